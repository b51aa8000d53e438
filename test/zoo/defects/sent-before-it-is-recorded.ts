import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'sent-before-it-is-recorded',
  what: 'An attempt leaves while its start is still being written, so a crash in between leaves a charge that nobody knows of.',
  edits: [
    {
      file: 'src/orchestrator/driver.ts',
      find: `      const committed = await commit(store, clock, turn, () => this.#closed);
`,
      replace: `      if (made.starts.length > 0) {
        const was = held.aggregate;
        const { revision, now } = held.told;
        const times = { since: now, dueAt: null, firstStartedAt: now, sendBy: null, windowEndsAt: null };
        held.aggregate = made.after({ revision: revision + 1, now, ...times }, turn.turn);
        this.#performAll(held, made.starts, stamp, hand);
        held.aggregate = was;
      }
      const committed = await commit(store, clock, turn, () => this.#closed);
`,
    },
    {
      file: 'src/orchestrator/driver.ts',
      find: `        if (!keeps) this.#drop(held);
        this.#performAll(held, made.starts, stamp, hand);
`,
      replace: `        if (!keeps) this.#drop(held);
`,
    },
  ],
};
