/**
 * Turns a submission into an identity and a fingerprint, or refuses it before anything is written: a schema that says
 * no, input that cannot be stored, a key or tenant that no database could keep apart.
 */

import { fingerprintOf } from '../domain/canonical.ts';
import { encode } from '../domain/codec.ts';
import { definitionInvalid } from '../domain/errors.ts';
import { operationId, providerKey, sagaId, type Scope, scopeOf, stepKey } from '../domain/idempotency.ts';
import { assertKeyText, assertTogether, KEY_LENGTH_MAX, SCOPE_BYTES_MAX } from '../domain/text.ts';
import type { Operation } from '../define/operation.ts';
import type { Saga } from '../define/saga-flow.ts';
import { itemStep } from '../define/saga-names.ts';
import { type Schema, validate } from '../define/schema.ts';
import { targetName } from '../define/step-target.ts';
import type { Birth, OperationRef, SagaBirth } from '../ports/store.ts';
import { newestOf, type RunnableSaga } from './runnable.ts';

export interface Accepted {
  readonly ref: OperationRef;
  readonly birth: Birth;
}

/**
 * At once when the schema is synchronous: what the caller does to its object afterwards changes nothing.
 */
export function accept(definition: Operation, tenant: string, submitted: unknown): Accepted | Promise<Accepted> {
  const { action, options } = definition;
  const input = validate(options.input, submitted, `The input of ${action}`);
  return input instanceof Promise
    ? input.then((later: unknown) => accepted(definition, tenant, later))
    : accepted(definition, tenant, input);
}

function accepted(definition: Operation, tenant: string, input: unknown): Accepted {
  const { action, options } = definition;
  if (options.key === null) {
    throw definitionInvalid(
      `${action} has no key, so it cannot be submitted alone.`,
      'Write key: ({ input }) => ... from the business identity.',
      { action, option: 'key' },
    );
  }
  const scope = scopeOf(tenant, action, options.key({ input }));
  return { ref: { tenant, id: operationId(scope) }, birth: birthOf(scope, definition, input) };
}

/** What is recorded of an operation of this identity, with an input that its schema has let pass. */
export function birthOf(scope: Scope, { volatile }: Operation, input: unknown): Birth {
  return {
    ...scope,
    providerKey: providerKey(scope),
    fingerprint: fingerprintOf(input, { volatile }),
    input: encode(input, { onUnsupported: 'refuse' }),
  };
}

/** Through its schema, at once: a turn waits for nothing. */
export function acceptedNow(name: string, schema: Schema, given: unknown): unknown {
  const input = validate(schema, given, `The input of ${name}`);
  if (input instanceof Promise) {
    input.catch(() => {});
    throw new Error(`The schema of ${name} is asynchronous, and here it has to answer at once.`);
  }
  return input;
}

/** In one order, and each once. Throws INPUT_INVALID for what no database could keep apart. */
function locksOf({ name, options }: Saga, tenant: string, input: unknown): readonly string[] {
  const named: unknown = options.lock?.({ input }) ?? [];
  if (!Array.isArray(named)) {
    throw definitionInvalid(`lock of saga ${name} gives no list of names.`, 'Write ({ input }) => [input.orderId].', {
      saga: name,
      option: 'lock',
    });
  }
  const resources: readonly unknown[] = named;
  const written = resources.map((resource) => {
    assertKeyText('lock', resource, KEY_LENGTH_MAX);
    assertTogether({ tenant, lock: resource }, SCOPE_BYTES_MAX);
    return resource;
  });
  return [...new Set(written)].toSorted();
}

export interface AcceptedSaga {
  readonly ref: OperationRef;
  readonly birth: SagaBirth;
  /** As its chart gets it. */
  readonly input: unknown;
}

/** As {@link accept}, for a saga. */
export function acceptSaga(
  saga: RunnableSaga,
  tenant: string,
  submitted: unknown,
): AcceptedSaga | Promise<AcceptedSaga> {
  const input = validate(saga.definition.options.input, submitted, `The input of ${saga.name}`);
  return input instanceof Promise
    ? input.then((later: unknown) => acceptedSaga(saga, tenant, later))
    : acceptedSaga(saga, tenant, input);
}

function acceptedSaga(saga: RunnableSaga, tenant: string, input: unknown): AcceptedSaga {
  const { name, definition } = saga;
  const { key } = scopeOf(tenant, name, definition.options.key({ input }));
  refuseLongKeys(saga, tenant, key);
  return {
    ref: { tenant, id: sagaId({ tenant, action: name, key }) },
    birth: birthOfSaga(saga, tenant, key, input),
    input,
  };
}

/** Refused now, and not when a step is begun: the identities of its steps are made from its own, and theirs from those. */
function refuseLongKeys({ name, steps, sagas }: RunnableSaga, tenant: string, key: string): void {
  for (const { step, atMost, target } of steps.values()) {
    const longest = atMost === null ? step : itemStep(step, atMost - 1);
    const scope = scopeOf(tenant, targetName(target), stepKey({ saga: name, key, step: longest }));
    const child = target.type === 'saga' ? newestOf(sagas, target.name) : null;
    if (child !== null) refuseLongKeys(child, tenant, scope.key);
  }
}

/** What is recorded of a saga of this key, with an input that its schema has let pass. */
export function birthOfSaga(
  { name, version, hash, definition }: RunnableSaga,
  tenant: string,
  key: string,
  input: unknown,
): SagaBirth {
  return {
    ...{ name, version, key, hash, locks: locksOf(definition, tenant, input) },
    fingerprint: fingerprintOf(input, { volatile: [] }),
    input: encode(input, { onUnsupported: 'refuse' }),
  };
}
