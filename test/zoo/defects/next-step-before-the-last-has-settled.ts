import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'next-step-before-the-last-has-settled',
  what: 'What is only being looked up counts as done, and the next step begins on a success that nobody has proven.',
  file: 'src/orchestrator/saga-turn.ts',
  find: '      if (entry.settledAs !== null || !isSettled(stateOf(member.row))) continue;',
  replace: `      if (entry.settledAs !== null || !(isSettled(stateOf(member.row)) || stateOf(member.row) === 'reconciling')) continue;`,
};
