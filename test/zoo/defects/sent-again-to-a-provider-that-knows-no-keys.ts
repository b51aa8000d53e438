import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'sent-again-to-a-provider-that-knows-no-keys',
  what: 'A lost reply is answered by a second request although neither a key nor a look-up makes that safe: two charges.',
  // What plans it and allows it when it is due, and what has the store refuse it: each alone would prevent it.
  edits: [
    {
      file: 'src/domain/policy.ts',
      find: '  return policy.keyRetentionMs !== null && isWindowOpen(facts);',
      replace: '  return (policy.lookup === null || policy.keyRetentionMs !== null) && isWindowOpen(facts);',
    },
    {
      file: 'src/orchestrator/start.ts',
      find: 'insideWindow: isResubmission(history) }',
      replace: 'insideWindow: retentionMs !== null && isResubmission(history) }',
    },
  ],
};
