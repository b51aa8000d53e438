import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'taken-back-in-part-with-what-is-in-doubt',
  what: 'Who takes back what is proven takes back what is in doubt with it: a refund of what may never have been paid.',
  file: 'src/orchestrator/saga-compensation.ts',
  find: "hasInverse && state === 'succeeded';",
  replace: "hasInverse && ['succeeded', 'unknown', 'reconciling', 'escalated'].includes(state);",
};
