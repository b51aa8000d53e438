import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'step-identity-without-the-saga-key',
  what: 'The steps of two sagas of one name are taken for one, so the second customer gets what the first one paid for.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'stepKey({ saga: name, key: this.#now.key, step:',
  replace: 'stepKey({ saga: name, key: name, step:',
};
