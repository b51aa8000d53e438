import { defect as broken } from '../../defects/new-key-per-attempt.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G2',
  spec: 'test/spec/one-operation-has-one-key.test.ts',
};
