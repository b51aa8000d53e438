import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'thrown-taken-for-not-applied',
  what: 'An executor’s exception is proof of nothing and taken for proof of absence, so what was charged is charged again.',
  file: 'src/orchestrator/perform.ts',
  find: "?? { type: 'unknown', reason: 'the executor threw' };",
  replace: "?? { type: 'not-applied', reason: 'the executor threw' };",
};
