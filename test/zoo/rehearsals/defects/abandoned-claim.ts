import { defect as broken } from '../../defects/update-by-id-only.ts';
import type { GuaranteeDefect } from '../../guarantees/guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'R67',
  spec: 'test/spec/rehearsal-abandoned-claim.test.ts',
};
