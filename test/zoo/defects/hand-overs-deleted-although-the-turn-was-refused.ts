import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'hand-overs-deleted-although-the-turn-was-refused',
  what: 'A worker that lost its claim throws away evidence and decisions with the turn that was to apply them.',
  file: 'src/adapters/memory/rows.ts',
  find: `  if (row === null) return null;
  keep(rows, row);`,
  replace: `  take(rows, turn);
  if (row === null) return null;
  keep(rows, row);`,
};
