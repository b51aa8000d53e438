import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'settled-operation-born-again',
  what: 'A submission of what has settled replaces it, so the same order is charged again instead of replayed.',
  file: 'src/adapters/memory/rows.ts',
  find: 'return isTaken(rows, turn, birth) ? null : bornOperation(',
  replace: `const known = findByIdentity(rows, birth);
  return known !== undefined && !isSettled(known.state) ? null : bornOperation(`,
};
