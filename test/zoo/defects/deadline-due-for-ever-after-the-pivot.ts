import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'deadline-due-for-ever-after-the-pivot',
  what: 'A deadline that means nothing any more stays due, and the saga is written again and again.',
  file: 'src/orchestrator/saga.ts',
  find: 'withinMs === null || isPivotPassed) return false;',
  replace: 'withinMs === null || (isPivotPassed && asked !== null)) return false;',
};
