import { defect as broken } from '../../defects/other-parameters-accepted.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G3',
  spec: 'test/spec/one-key-means-one-intent.test.ts',
};
