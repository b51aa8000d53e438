import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'refused-step-taken-back',
  what: 'What was refused is taken back as well, so a customer is given back money that was never taken.',
  file: 'src/orchestrator/saga-compensation.ts',
  find: `!entry.compensationBegun && hasInverse && state === 'succeeded';`,
  replace: '!entry.compensationBegun && hasInverse && isSettled(state);',
};
