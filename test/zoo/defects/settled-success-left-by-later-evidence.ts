import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'settled-success-left-by-later-evidence',
  what: 'A success that was told to the caller goes back into doubt when another record turns up, so its answer changes.',
  edits: [
    {
      file: 'src/orchestrator/advance.ts',
      find: 'return isSettled(stateOf(row)) ? setBeside(row, said)',
      replace: "return stateOf(row) === 'failed' ? setBeside(row, said)",
    },
    {
      file: 'machines/operation.ts',
      find: `      on: {
        'compensation.begun': { guard: 'noJoinedSagaUnsettled', target: 'compensating' },`,
      replace: `      on: {
        'compensation.begun': { guard: 'noJoinedSagaUnsettled', target: 'compensating' },
        'evidence.received': [
          { guard: 'provenTwoEffects', target: 'escalated', actions: ['learn', escalate('two-effects')] },
          { actions: 'learn' },
        ],`,
    },
  ],
};
