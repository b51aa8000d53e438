import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'refused-inverse-taken-for-done',
  what: 'An inverse that its provider refused counts as done, and nobody is asked about what still stands.',
  file: 'src/orchestrator/saga-turn.ts',
  find: `          stateOf(member.row) === 'succeeded'
            ? { type: 'compensation.succeeded' }`,
  replace: `          isSettled(stateOf(member.row))
            ? { type: 'compensation.succeeded' }`,
};
