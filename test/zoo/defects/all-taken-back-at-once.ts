import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'all-taken-back-at-once',
  what: 'Inverses do not wait for each other, although what was done later rests on what was done before.',
  file: 'src/orchestrator/saga-compensation.ts',
  find: 'ledger.some(isBeingCompensated) ? [] : owed(ledger).slice(0, 1)',
  replace: 'owed(ledger)',
};
