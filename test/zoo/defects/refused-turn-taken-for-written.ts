import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'refused-turn-taken-for-written',
  what: 'Whoever finds the operation in the store believes that it wrote it, so each of many submissions charges.',
  file: 'src/orchestrator/commit.ts',
  find: 'return row?.turn === turn.turn ?',
  replace: 'return row?.id === turn.id ?',
};
