import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'taken-back-at-a-word-while-it-is-open',
  what: 'An operator’s word takes back a saga that has not settled, behind the back of whoever waits for its pivot.',
  file: 'src/orchestrator/saga-turn.ts',
  find: "if (state !== 'succeeded' && state !== 'terminated')",
  replace: "if (state === 'escalated')",
};
