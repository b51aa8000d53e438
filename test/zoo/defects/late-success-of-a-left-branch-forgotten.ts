import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'late-success-of-a-left-branch-forgotten',
  what: 'What the chart no longer waits for succeeds, and nobody takes it back: a room that nobody will use is paid.',
  file: 'src/orchestrator/saga-compensation.ts',
  find: 'if (compensation === null) return owed(ledger).filter(({ entry }) => entry.isLeft);',
  replace: 'if (compensation === null) return [];',
};
