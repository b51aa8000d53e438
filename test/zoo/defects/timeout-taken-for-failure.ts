import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'timeout-taken-for-failure',
  what: 'A reply that does not come in time is called a refusal, so the customer is told no and charged.',
  file: 'src/orchestrator/perform.ts',
  find: "attempted.seen()?.result ?? { type: 'unknown', reason }));",
  replace: "attempted.seen()?.result ?? { type: 'failed', code: reason }));",
};
