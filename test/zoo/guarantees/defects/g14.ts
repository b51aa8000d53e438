import { defect as broken } from '../../defects/key-without-tenant.ts';
import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  ...broken,
  guarantee: 'G14',
  spec: 'test/spec/tenants-do-not-meet.test.ts',
};
