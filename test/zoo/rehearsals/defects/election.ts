import { defect as broken } from '../../defects/refused-turn-taken-for-written.ts';
import type { GuaranteeDefect } from '../../guarantees/guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'R30',
  spec: 'test/spec/rehearsal-election.test.ts',
};
