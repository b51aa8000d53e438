/** Turns as the tests of the server give them to a store: a payment of an invented shop, with one record each. */

import { randomUUID } from 'node:crypto';
import type { Fence, OperationRef, Turn } from 'sagacity/testing';

export const ACTION = 'payment.authorise';

export function fresh(what: string): string {
  return `${what}-${randomUUID()}`;
}

/** The birth of an operation with an identity of its own, unless `key` says which. */
export function birth(tenant: string, { key = fresh('order'), ...turn }: Partial<Turn> & { key?: string } = {}): Turn {
  return {
    tenant,
    id: fresh('op'),
    turn: fresh('turn'),
    birth: {
      tenant,
      action: ACTION,
      key,
      providerKey: `provider:${key}`,
      fingerprint: 'fp-1',
      input: { amount: 1200 },
    },
    was: null,
    owner: null,
    generation: 1,
    state: 'pending',
    dueInMs: null,
    reason: null,
    contradicted: false,
    snapshot: { value: turn.state ?? 'pending' },
    output: null,
    start: null,
    records: [{ kind: 'moved', attempt: null, body: { to: turn.state ?? 'pending' } }],
    takes: [],
    ...turn,
  };
}

/** The next turn of an operation that is as `was` says. */
export function move({ tenant, id }: OperationRef, was: Fence, turn: Partial<Turn> = {}): Turn {
  const { owner, generation } = was;
  return { ...birth(tenant, { id, owner, generation, state: 'in-progress', ...turn }), birth: null, was };
}
