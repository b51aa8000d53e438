import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'held-by-who-was-ended-as-it-stands',
  what: 'Of two sagas that hold each other a person ends one, and the other one waits for it all the same.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'return saga === undefined || (saga !== null && !isSagaSettled(saga.state));',
  replace:
    "return saga === undefined || (saga !== null && (!isSagaSettled(saga.state) || saga.state === 'terminated'));",
};
