import { defect as broken } from '../../defects/other-parameters-accepted.ts';
import type { GuaranteeDefect } from '../../guarantees/guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'R27',
  spec: 'test/spec/rehearsal-fingerprint.test.ts',
};
