/**
 * A new operation in the place of one that is proven to have had no effect, with a key of its own: what a provider has
 * answered under the old one it may answer for ever. Both are linked, and whoever retries the same one meets the same new
 * one. What could go wrong is that the old one had its effect after all; hence only what has failed is retried.
 */

import { retryRefused } from '../domain/errors.ts';
import { isSagaId, operationId, providerKey, retryKey, scopeOf, undoneBy } from '../domain/idempotency.ts';
import type { OperationState } from '../domain/operation-state.ts';
import type { OperationRow, Store } from '../ports/store.ts';
import type { OperationContext, RetryOf } from '../../machines/operation.ts';
import type { Accepted } from './accept.ts';
import { contextOf, fromStored } from './row.ts';
import { existing } from './run.ts';

export interface Retry extends Accepted {
  readonly retryOf: RetryOf;
}

/**
 * What was accepted, under the identity that it has as the retry of `id`. Rejects with OPERATION_NOT_FOUND, and with
 * RETRY_REFUSED for what is not proven to have had no effect, or is another intent.
 */
export async function retried(store: Pick<Store, 'read'>, { ref, birth }: Accepted, id: string): Promise<Retry> {
  if (isSagaId(id)) throw retryRefused(id, 'it is a saga', 'Submit that again under a new key.');
  const { tenant, action, key } = birth;
  const old = await existing(store, { tenant: ref.tenant, id });
  if (old.action !== action) {
    throw retryRefused(
      id,
      `it is an operation of ${old.action}, not of ${action}`,
      'Give the id of one of the same action.',
    );
  }
  const context = contextOf(fromStored(old));
  const refusal = whyNot(old, context);
  if (refusal !== null) throw retryRefused(id, ...refusal);
  const firstKey = context.retryOf?.key ?? old.key;
  if (key !== firstKey) {
    const keys = `its key is ${JSON.stringify(firstKey)}, and that of this input ${JSON.stringify(key)}`;
    throw retryRefused(id, keys, 'That is another intent: submit it without retryOf.');
  }
  const scope = scopeOf(tenant, action, retryKey(id));
  return {
    ref: { tenant, id: operationId(scope) },
    birth: { ...birth, ...scope, providerKey: providerKey(scope) },
    retryOf: { id, key: firstKey },
  };
}

/** Why it cannot be retried, and what to do; null: it can. */
function whyNot(old: OperationRow, { policy }: OperationContext): readonly [string, string] | null {
  if (old.saga !== null) {
    return [
      `it is a step of saga ${old.saga}`,
      'Steps are not retried by themselves: submit the saga under a new key.',
    ];
  }
  if (policy.inverse) {
    const original = undoneBy(old.key);
    return [`it takes back ${original ?? 'another one'}`, 'Command that to be taken back: operator.compensate.'];
  }
  if (old.contradictedAt !== null) {
    return [
      `it is ${old.state}, and contradicted since`,
      'It is among operator.doubts(): find out what its provider has.',
    ];
  }
  return old.state === 'failed' ? null : [`it is ${old.state}`, remedies[old.state]];
}

const remedies: Readonly<Record<Exclude<OperationState, 'failed'>, string>> = {
  pending: 'Wait for its end: run.result().',
  'in-progress': 'Wait for its end: run.result().',
  unknown: 'Nobody knows yet whether it had an effect. Wait until that is found out.',
  reconciling: 'Nobody knows yet whether it had an effect. Wait until that is found out.',
  escalated: 'A person has to decide first whether it had an effect: operator.resolve().',
  succeeded: 'It had its effect. Use a new key for a new intent.',
  compensating: 'It had its effect, which is being taken back. Use a new key for a new intent.',
  compensated: 'It had its effect, which was taken back. Use a new key for a new intent.',
};
