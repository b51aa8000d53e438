import { defect as broken } from '../../defects/interrupted-attempt-is-run-again.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G8',
  spec: 'test/spec/a-crash-anywhere-adds-no-effect.test.ts',
};
