import { defect as broken } from '../../defects/absent-believed-before-send-by.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G5',
  spec: 'test/spec/unknown-is-never-retried-blindly.test.ts',
};
