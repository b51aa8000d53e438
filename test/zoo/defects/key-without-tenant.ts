import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'key-without-tenant',
  what: 'Two tenants with one order number share the provider’s key, so the second is told of the first one’s charge.',
  file: 'src/domain/idempotency.ts',
  find: "digest('sagacity.provider-key.v1', scope)",
  replace: "digest('sagacity.provider-key.v1', { ...scope, tenant: '' })",
};
