import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'inverse-of-an-operation-alone-never-begun',
  what: 'An operation alone is said to be being taken back, and nobody ever sends what takes it back.',
  file: 'src/orchestrator/alone.ts',
  find: 'return { ...made, begins: [inverse.newborn(this.#kernel)] };',
  replace: 'return made;',
};
