// What a service that describes its own provider imports.
import { operation, succeeded, typed } from 'sagacity';
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

export const charge = operation('card.charge', {
  input: typed<{ amount: number }>(),
  execute: ({ input, http }) =>
    http.send({ url: 'https://api.card-company.example/charges', json: input }, ({ body }) => succeeded(body)),
  ...{ contract: charges, lookup: 'none' },
});
