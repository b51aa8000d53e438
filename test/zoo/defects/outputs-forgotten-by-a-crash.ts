import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'outputs-forgotten-by-a-crash',
  what: 'What its steps brought is not given back to a chart that is restored, so later steps are begun without it.',
  file: 'src/orchestrator/saga-course.ts',
  find: 'const known = { ...outputs, ...outputsIn(course, members) };',
  replace: 'const known = outputs;',
};
