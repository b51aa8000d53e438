import { defect as broken } from '../../defects/update-by-id-only.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G6',
  spec: 'test/spec/a-worker-that-lost-its-claim-changes-nothing.test.ts',
};
