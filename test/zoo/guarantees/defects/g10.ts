import { defect as broken } from '../../defects/settled-operation-born-again.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G10',
  spec: 'test/spec/a-repeated-submission-is-a-replay.test.ts',
};
