/**
 * Turns a submission into an identity and a fingerprint, or refuses it before anything is written: a schema that says
 * no, input that cannot be stored, a key or tenant that no database could keep apart.
 */

import { fingerprintOf } from '../domain/canonical.ts';
import { encode } from '../domain/codec.ts';
import { definitionInvalid } from '../domain/errors.ts';
import { operationId, providerKey, scopeOf } from '../domain/idempotency.ts';
import type { Operation } from '../define/operation.ts';
import { validate } from '../define/schema.ts';
import type { Birth, OperationRef } from '../ports/store.ts';

export interface Accepted {
  readonly ref: OperationRef;
  readonly birth: Birth;
  /** What the schema made of what was submitted. */
  readonly input: unknown;
}

export async function accept(definition: Operation, tenant: string, submitted: unknown): Promise<Accepted> {
  const { action, options, volatile } = definition;
  const input = await validate(options.input, submitted, `The input of ${action}`);
  if (options.key === null) {
    throw definitionInvalid(
      `${action} has no key, so it cannot be submitted alone.`,
      'Write key: ({ input }) => ... from the business identity.',
      { action, option: 'key' },
    );
  }
  const scope = scopeOf(tenant, action, options.key({ input }));
  const fingerprint = fingerprintOf(input, { volatile });
  return {
    ref: { tenant, id: operationId(scope) },
    birth: {
      ...scope,
      providerKey: providerKey(scope),
      fingerprint,
      input: encode(input, { onUnsupported: 'refuse' }),
    },
    input,
  };
}
