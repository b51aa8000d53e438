import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'what-a-joined-operation-became-never-asked',
  what: 'A saga that has joined another’s operation is looked after by nobody, and never hears how that ended.',
  file: 'src/orchestrator/saga.ts',
  find: 'dues.push({ name: LOOK, inMs });',
  replace: 'if (looksInMs === 0) dues.push({ name: LOOK, inMs: 0 });',
};
