import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'refused-inverse-taken-for-done',
  what: 'An inverse that its provider refused counts as done, and nobody is asked about what still stands.',
  file: 'src/orchestrator/advance.ts',
  find: "if (stateOf(inverse) === 'succeeded') return",
  replace: 'if (isSettled(stateOf(inverse))) return',
};
