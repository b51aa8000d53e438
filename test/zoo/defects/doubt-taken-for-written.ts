import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'doubt-taken-for-written',
  what: 'A write whose answer was lost is thought to have happened, so a request is sent whose start is recorded nowhere.',
  file: 'src/orchestrator/commit.ts',
  find: `    const receipt = await writeTurn(store, turn);
`,
  replace: `    const receipt = await writeTurn(store, turn).catch((error: unknown) => {
      if (isSagaTurn(turn) || !isSagacityError(error, 'STORE_IN_DOUBT')) throw error;
      const now = clock.now();
      const dueAt = turn.dueInMs === null ? null : now + turn.dueInMs;
      const revision = (turn.was?.revision ?? 0) + 1;
      return { revision, now, since: now, dueAt, firstStartedAt: now, sendBy: null, windowEndsAt: null };
    });
`,
};
