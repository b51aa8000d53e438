import { defect as broken } from '../../defects/sent-before-it-is-recorded.ts';
import type { GuaranteeDefect } from '../../guarantees/guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'R88',
  spec: 'test/spec/rehearsal-crash-proof.test.ts',
};
