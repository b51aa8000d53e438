import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'next-step-before-the-last-has-settled',
  what: 'What is only being looked up counts as done, and the next step begins on a success that nobody has proven.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'else if (settledAs === null && isSettled(state))',
  replace: "else if (settledAs === null && (isSettled(state) || state === 'reconciling'))",
};
