/**
 * A contract against the provider that it describes. A team runs it in its own tests against the sandbox, so that what a
 * documentation says, or leaves unsaid, is known before money depends on it. The contract is the authority; each test here
 * holds the provider to one sentence of it. The suite brings no test runner: hand it the functions of yours. What cannot be
 * tried is declared as a test that is still to be done, with the reason, and never passes.
 */

import type { Contract } from '../domain/contract.ts';
import {
  businessWith,
  type ContractCheck,
  ContractBroken,
  contractChecks,
  type ContractFinding,
} from './contract/checks.ts';
import type { ContractEndpoint } from './contract/endpoint.ts';
import type { TestApi } from './store-under-test.ts';

/** What the suite needs of a test runner; the functions of vitest and Jest fit as they are. */
export type ContractTestApi = Pick<TestApi, 'describe' | 'expect'> & {
  readonly test: TestApi['test'] & { todo(consequence: string): unknown };
};

/**
 * Declares the tests of a contract at an endpoint.
 *
 * @example
 * import { describe, expect, test } from 'vitest';
 * contractSuite(charges, {
 *   async send({ headers, reference, variant }) {
 *     const amount = variant === 'first' ? 100 : 200;
 *     const reply = await fetch('https://sandbox.card-company.example/charges', {
 *       method: 'POST', headers, body: JSON.stringify({ reference, amount }),
 *     });
 *     return { status: reply.status, headers: Object.fromEntries(reply.headers), body: await reply.json() };
 *   },
 *   idIn: ({ body }) => chargeIn(body)?.id ?? null,
 *   lookUp: async ({ reference }) => (await chargesWith(reference)).map(({ id }) => id),
 * }, { describe, expect, test });
 */
export function contractSuite(contract: Contract, endpoint: ContractEndpoint, api: ContractTestApi): void {
  api.describe(`the contract ${contract.name}, version ${contract.version}`, () => {
    for (const each of contractChecks) {
      const why = each.notTried(contract, endpoint);
      if (why !== null) api.test.todo(`${each.check} (not tried: ${why})`);
      else {
        api.test(each.check, async () => {
          api
            .expect(await findingOf(each, contract, endpoint))
            .toEqual({ check: each.check, found: 'kept', detail: null });
        });
      }
    }
  });
}

/**
 * The same without a test runner: what became of each question, in order. Rejects when the endpoint does.
 *
 * @example
 * const broken = (await contractFindings(charges, endpoint)).filter(({ found }) => found === 'broken');
 */
export async function contractFindings(
  contract: Contract,
  endpoint: ContractEndpoint,
): Promise<readonly ContractFinding[]> {
  const findings: ContractFinding[] = [];
  for (const each of contractChecks) findings.push(await findingOf(each, contract, endpoint));
  return findings;
}

async function findingOf(
  each: ContractCheck,
  contract: Contract,
  endpoint: ContractEndpoint,
): Promise<ContractFinding> {
  const { check } = each;
  const why = each.notTried(contract, endpoint);
  if (why !== null) return { check, found: 'not-tried', detail: why };
  try {
    await each.run(businessWith(contract, endpoint));
    return { check, found: 'kept', detail: null };
  } catch (error) {
    if (error instanceof ContractBroken) return { check, found: 'broken', detail: error.message };
    throw error;
  }
}
