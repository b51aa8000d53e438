import { defect as broken } from '../../defects/key-without-tenant.ts';
import type { GuaranteeDefect } from '../../guarantees/guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'R9',
  spec: 'test/spec/rehearsal-key-scope.test.ts',
};
