import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'deadline-due-for-ever-after-the-pivot',
  what: 'A deadline that means nothing any more stays due, and the saga is written again and again.',
  file: 'src/orchestrator/saga.ts',
  find: '  if (mayTimeOut && isDeadlineSet(before)) {',
  replace: '  if ((mayTimeOut || course.compensation === null) && isDeadlineSet(before)) {',
};
