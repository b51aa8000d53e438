// What a service that describes its own provider imports.
import { type Contract, contract, idempotencyKeyHeader, stripeV1 } from 'sagacity/providers';

export const own: Contract = contract({
  ...{ name: 'card-company/charges', version: '1', docs: 'https://docs.card-company.example', verified: 'unverified' },
  ...{ key: 'none', lookup: 'none' },
});

export const charges: Contract = idempotencyKeyHeader({
  ...{ name: 'card-company/charges', docs: 'https://docs.card-company.example', verified: 'unverified' },
  ...{ keyRetention: '24h', lookup: 'none' },
});

export const refunds: Contract = stripeV1.refunds;
