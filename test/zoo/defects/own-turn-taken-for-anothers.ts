import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'own-turn-taken-for-anothers',
  what: 'A repetition that is refused because the first try was written counts as lost, so a recorded start is never sent or ended.',
  file: 'src/orchestrator/commit.ts',
  find: "return row?.turn === turn.turn ? { type: 'written', receipt: receiptIn(row, turn) } : { type: 'refused', row };",
  replace: "return { type: 'refused', row };",
};
