import { defect as broken } from '../../defects/sent-before-it-is-recorded.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G1',
  spec: 'test/spec/an-attempt-is-recorded-before-it-is-sent.test.ts',
};
