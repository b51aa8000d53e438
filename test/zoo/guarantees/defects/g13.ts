import { defect as broken } from '../../defects/own-turn-taken-for-anothers.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G13',
  spec: 'test/spec/a-reply-lost-from-the-database-is-an-unknown-outcome.test.ts',
};
