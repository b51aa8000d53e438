import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'looked-up-twice-and-never-again',
  what: 'A second look-up that settles nothing is the last one, so the operation stays in doubt and nobody is asked.',
  file: 'machines/operation.ts',
  find: "  { target: 'reconciling', reenter: true, actions: 'learn' },",
  replace: "  { target: 'reconciling', actions: 'learn' },",
};
