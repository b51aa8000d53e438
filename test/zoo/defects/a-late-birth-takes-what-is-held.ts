import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-late-birth-takes-what-is-held',
  what: 'The reply about a birth comes when its worker is over, and takes the operation from the one that has it since.',
  file: 'src/orchestrator/driver.ts',
  find: 'if (this.#held.has(keyOf(ref))) {\n        // The reply',
  replace: 'if (this.#closed) {\n        // The reply',
};
