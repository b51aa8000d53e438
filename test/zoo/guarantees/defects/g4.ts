import { defect as broken } from '../../defects/refused-turn-taken-for-written.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G4',
  spec: 'test/spec/one-of-many-submissions-executes.test.ts',
};
