/** The scripted provider that speaks a contract, in the hands of the suite: the example of how an endpoint is described. */

import type { Contract } from '../../domain/contract.ts';
import { isObject, type JsonObject } from '../provider/payload.ts';
import type { ContractProvider } from './contract-provider.ts';
import type { ContractEndpoint, EndpointReply } from './endpoint.ts';
import { merged, under } from './told.ts';

/**
 * The endpoint of a {@link contractProvider}. With `passes`, time passes as the provider's clock has it.
 *
 * @example
 * const endpoint = providerEndpoint(provider, { passes: async (ms) => clock.advance(ms), patienceMs: 86_400_000 });
 */
export function providerEndpoint(
  provider: ContractProvider,
  time: Pick<ContractEndpoint, 'passes' | 'patienceMs'> = {},
): ContractEndpoint {
  const { contract, url, refusing, failing, holding } = provider;
  const ask = async (path: string, init?: RequestInit): Promise<EndpointReply> => {
    const response = await fetch(`${url}${path}`, init);
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.json() };
  };
  return {
    ...time,
    ...{ refusing, failing, holding },
    now: () => provider.now(),
    send({ key, headers, reference, variant }) {
      const body = { reference, amount: variant === 'first' ? 100 : 200 };
      const query = key !== null && contract.key?.in === 'query' ? queryOf({ [contract.key.name]: key }) : '';
      return ask(`/records${query}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(withKey(contract, key, body)),
      });
    },
    idIn: ({ body }) => (isObject(body) && typeof body['id'] === 'string' ? body['id'] : null),
    async lookUp({ key, reference }) {
      const by = contract.lookup?.by === 'key' ? { key: key ?? '' } : { reference };
      const { body } = await ask(`/records${queryOf(by)}`);
      const records = isObject(body) && Array.isArray(body['records']) ? body['records'] : [];
      return records.filter(isObject).map(({ id }) => String(id));
    },
    count: async (reference) => provider.records().filter((record) => record.reference === reference).length,
  };
}

function queryOf(parameters: Readonly<Record<string, string>>): string {
  return `?${new URLSearchParams(parameters).toString()}`;
}

function withKey(contract: Contract, key: string | null, body: JsonObject): unknown {
  return key === null || contract.key?.in !== 'body' ? body : merged(body, under(contract.key.name.split('.'), key));
}
