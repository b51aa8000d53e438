import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'sent-before-it-is-recorded',
  what: 'An attempt leaves while its start is still being written, so a crash in between leaves a charge that nobody knows of.',
  edits: [
    {
      file: 'src/orchestrator/driver.ts',
      find: `      const committed = await commit(store, clock, turn, () => this.#closed);
      if (committed.type === 'written') {
        held.row = made.row;`,
      replace: `      if (happening.type === 'due' && stateOf(made.row) === 'in-progress') {
        held.row = made.row;
        this.#perform(held, stampNow(clock), () => {});
      }
      const committed = await commit(store, clock, turn, () => this.#closed);
      if (committed.type === 'written') {
        held.row = made.row;`,
    },
    {
      file: 'src/orchestrator/driver.ts',
      find: `      const written = await this.#write(held, { type: 'due', generation });
      if (written && stateOf(held.row) === 'in-progress' && !held.dropped) {
        this.#perform(held, stamp, giveBack);
        performing = true;
      }
`,
      replace: `      await this.#write(held, { type: 'due', generation });
`,
    },
  ],
};
