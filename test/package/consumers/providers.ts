// What a service that describes its own provider imports.
import { operation, succeeded, typed } from 'sagacity';
import { type Contract, contract } from 'sagacity/providers';

export const charges: Contract = contract({
  ...{ name: 'card-company/charges', version: '1', docs: 'https://docs.card-company.example', verified: 'unverified' },
  ...{ key: 'none', lookup: 'none' },
});

export const charge = operation('card.charge', {
  input: typed<{ amount: number }>(),
  execute: ({ input, http }) =>
    http.send({ url: 'https://api.card-company.example/charges', json: input }, ({ body }) => succeeded(body)),
  keyRetention: 'none',
  lookup: 'none',
});
