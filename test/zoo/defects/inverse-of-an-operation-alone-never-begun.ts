import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'inverse-of-an-operation-alone-never-begun',
  what: 'An operation alone is said to be being taken back, and nobody ever sends what takes it back.',
  file: 'src/orchestrator/alone.ts',
  find: '{ ...made, begins: [newOperation(definition, ref, identified, this.#kernel)] };',
  replace: '{ ...made, begins: identified === null ? [] : made.begins };',
};
