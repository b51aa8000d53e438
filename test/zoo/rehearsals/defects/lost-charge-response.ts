import { defect as broken } from '../../defects/timeout-taken-for-failure.ts';
import type { GuaranteeDefect } from '../../guarantees/guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'R59',
  spec: 'test/spec/rehearsal-lost-charge-response.test.ts',
};
