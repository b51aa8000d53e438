import { defect as broken } from '../../defects/looked-up-twice-and-never-again.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G7',
  spec: 'test/spec/nothing-is-lost.test.ts',
};
