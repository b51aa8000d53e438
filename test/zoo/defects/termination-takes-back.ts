import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'termination-takes-back',
  what: 'A saga that a person ended as it stood begins to take back what it did.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'this.#course = { ...this.#course, entries, isTerminated: true, isFrozen: true, fault: null };',
  replace: "this.#freeze({ step: null, code: 'cancelled' });",
};
