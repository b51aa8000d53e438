import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'sent-again-to-a-provider-that-knows-no-keys',
  what: 'A lost reply is answered by a second request although neither a key nor a look-up makes that safe: two charges.',
  file: 'src/domain/policy.ts',
  find: `    policy.lookup === null &&
    policy.keyRetentionMs !== null &&`,
  replace: '    policy.lookup === null &&',
};
