/** Every contract that the library ships, by name; of those that take options, one as an example. */

import * as providers from 'sagacity/providers';
import type { Contract } from 'sagacity/providers';

const example = (path: string) => ({
  ...{ name: `example/${path}`, docs: `https://docs.provider.example/${path}`, verified: 'unverified' },
});

export const genericContracts: readonly Contract[] = [
  providers.idempotencyKeyHeader({
    ...example('idempotency-key-header'),
    ...{ keyRetention: '24h', lookup: { by: 'key', visibleWithin: '1m' } },
  }),
  providers.naturalReference({
    ...example('natural-reference'),
    ...{ reference: 'external_id', duplicate: { status: 409 }, visibleWithin: '1m' },
  }),
  providers.repeatableRequests({ ...example('repeatable-requests'), lookup: 'none' }),
  providers.lookupOnly({ ...example('lookup-only'), by: 'reference', visibleWithin: '1m' }),
  providers.noContract(),
];

const contractsIn = (value: unknown): readonly Contract[] => {
  if (typeof value !== 'object' || value === null) return [];
  if ('type' in value && value.type === 'contract') {
    // It says so, and nothing else of this entry does.
    return [value as Contract];
  }
  return Object.values(value).flatMap(contractsIn);
};

/** Those of real companies. */
export const companyContracts: readonly Contract[] = Object.values(providers).flatMap(contractsIn);

export const presetContracts: readonly Contract[] = [...companyContracts, ...genericContracts];
