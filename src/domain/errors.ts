/**
 * Every error Sagacity throws, in one list. An outcome of an operation is never among them: the business saying no,
 * or nobody knowing, are values. Errors are caller mistakes (nothing durable has happened) or the surroundings
 * (`retryable` says whether the same call may succeed later). Codes are stable; messages say what happened, to
 * which thing, and what to do now, and never contain parameters.
 */

export type ErrorCode =
  | 'DEFINITION_INVALID'
  | 'DEFINITION_MISSING'
  | 'INPUT_INVALID'
  | 'IDEMPOTENCY_CONFLICT'
  | 'OPERATION_NOT_FOUND'
  | 'SAGA_NOT_FOUND'
  | 'SIGNAL_REFUSED'
  | 'RESOURCE_LOCKED'
  | 'RESOLUTION_REFUSED'
  | 'RETRY_REFUSED'
  | 'ORCHESTRATOR_STOPPED'
  | 'STORE_UNAVAILABLE'
  | 'STORE_IN_DOUBT'
  | 'STORE_UNUSABLE'
  | 'TRANSACTION_BROKEN'
  | 'SCHEMA_OUTDATED';

/** Whatever is known about an error beside its message: ids, names and paths, never parameters. */
export type ErrorFacts = Readonly<Record<string, unknown>>;

const brand = Symbol.for('sagacity.error');

/**
 * The class of every error the library throws. `instanceof` holds across two installed copies; `code` is one of
 * {@link ErrorCode}; `facts` names the things concerned; `retryable` is true only for the surroundings.
 *
 * @example
 * try { await orchestrator.submit(chargeCard, payment); }
 * catch (error) { if (isSagacityError(error, 'IDEMPOTENCY_CONFLICT')) return reply(422, error.message); throw error; }
 */
export class SagacityError extends Error {
  readonly code: ErrorCode;
  readonly facts: ErrorFacts;
  readonly retryable: boolean;
  /** What to do now, where it is known: the end of the message. */
  readonly remedy: string | null;

  constructor(
    code: ErrorCode,
    message: string,
    options: { facts?: ErrorFacts; cause?: unknown; retryable?: boolean; remedy?: string } = {},
  ) {
    super(
      options.remedy === undefined ? message : `${message} ${options.remedy}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = 'SagacityError';
    this.code = code;
    this.facts = options.facts ?? {};
    this.retryable = options.retryable ?? false;
    this.remedy = options.remedy ?? null;
    Object.defineProperty(this, brand, { value: true });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && brand in value;
  }

  /** What a logger prints: no stack, no cause, no parameters. */
  toJSON(): { name: string; code: ErrorCode; message: string; facts: ErrorFacts; retryable: boolean } {
    return { name: this.name, code: this.code, message: this.message, facts: this.facts, retryable: this.retryable };
  }
}

/** Tells whether `value` is an error of this library and, when a code is given, whether it is that one. */
export function isSagacityError<Code extends ErrorCode>(
  value: unknown,
  code?: Code,
): value is SagacityError & { readonly code: Code } {
  return value instanceof SagacityError && (code === undefined || value.code === code);
}

export function definitionInvalid(
  what: string,
  remedy: string,
  facts: ErrorFacts = {},
  cause?: unknown,
): SagacityError {
  return new SagacityError('DEFINITION_INVALID', what, { facts, cause, remedy });
}

/** `places`: where they were made, when the name is registered with another definition than the one given. */
export function definitionMissing(
  name: string,
  places?: { readonly given: string; readonly registered: string },
): SagacityError {
  return new SagacityError(
    'DEFINITION_MISSING',
    places === undefined
      ? `${name} is not registered with this orchestrator. Add it to createOrchestrator({ definitions }).`
      : `Another definition of ${name} is registered with this orchestrator (made at ${places.registered}) than the one ` +
          `given (made at ${places.given}). Define it once, and give submit() the same object as ` +
          'createOrchestrator({ definitions }).',
    { facts: { action: name, ...(places === undefined ? {} : { places: [places.registered, places.given] }) } },
  );
}

export function inputInvalid(what: string, facts: ErrorFacts = {}, cause?: unknown): SagacityError {
  return new SagacityError('INPUT_INVALID', what, { facts, cause });
}

export function idempotencyConflict(facts: {
  tenant: string;
  action: string;
  key: string;
  operationId: string;
  fingerprint: string;
  submittedFingerprint: string;
  paths: readonly string[];
}): SagacityError {
  const where = facts.paths.length > 0 ? ` (they differ at ${facts.paths.join(', ')})` : '';
  return new SagacityError(
    'IDEMPOTENCY_CONFLICT',
    `Idempotency key ${JSON.stringify(facts.key)} of ${facts.action} (tenant ${facts.tenant}) was first used with ` +
      `other parameters${where}. Nothing was sent. Use a new key for a new intent.`,
    { facts },
  );
}

export function operationNotFound(tenant: string, id: string): SagacityError {
  return new SagacityError(
    'OPERATION_NOT_FOUND',
    `There is no operation ${JSON.stringify(id)} in tenant ${tenant}. Take the id from run.id or operator.doubts(); ` +
      'what was submitted in a transaction is there once that has committed.',
    { facts: { tenant, id } },
  );
}

export function sagaNotFound(tenant: string, id: string): SagacityError {
  return new SagacityError(
    'SAGA_NOT_FOUND',
    `There is no saga ${JSON.stringify(id)} in tenant ${tenant}. Take the id from run.id, or name the saga and its key; ` +
      'what was submitted in a transaction is there once that has committed.',
    { facts: { tenant, id } },
  );
}

/** What was sent under this name and id before says something else. */
export function signalConflict(id: string, name: string, eventId: string): SagacityError {
  return new SagacityError(
    'IDEMPOTENCY_CONFLICT',
    `Event ${eventId} of signal ${name} was sent to ${id} before, with another payload. One event id names one event: ` +
      'send the same payload again, or another id; nothing was changed.',
    { facts: { id, signal: name, eventId } },
  );
}

/** A saga cannot begin while another one holds what it wants. `holders` are ids of sagas, by resource. */
export function resourceLocked(name: string, key: string, holders: Readonly<Record<string, string>>): SagacityError {
  const told = Object.entries(holders).map(([resource, saga]) => `${resource} (held by ${saga})`);
  return new SagacityError(
    'RESOURCE_LOCKED',
    `Saga ${name} of ${key} was not begun: another saga holds ${told.join(' and ')}. ` +
      'Submit it again once that has settled; nothing was changed.',
    { facts: { saga: name, key, holders } },
  );
}

/** The saga was not moved. `why` names it, where it is and what it would take. */
export function signalRefused(id: string, event: string, why: string): SagacityError {
  return new SagacityError('SIGNAL_REFUSED', `Event ${event} was refused: ${why}.`, { facts: { id, event } });
}

export function resolutionRefused(id: string, why: string, facts: ErrorFacts = {}): SagacityError {
  return new SagacityError('RESOLUTION_REFUSED', `The decision on ${id} was refused: ${why}`, {
    facts: { id, ...facts },
  });
}

export function orchestratorStopped(verb: string): SagacityError {
  return new SagacityError(
    'ORCHESTRATOR_STOPPED',
    `${verb} was called on an orchestrator that has been stopped. Create a new one.`,
  );
}

/** It is not retried, and nothing was sent. `why` says what it is. */
export function retryRefused(id: string, why: string, remedy: string): SagacityError {
  return new SagacityError('RETRY_REFUSED', `A retry of ${id} was refused: ${why}.`, { facts: { id }, remedy });
}

/** The store is known not to have carried out the call: it may be made again. */
export function storeUnavailable(what: string, remedy: string, cause?: unknown): SagacityError {
  return new SagacityError('STORE_UNAVAILABLE', what, { cause, retryable: true, remedy });
}

/** The store may or may not have carried out the call: repeat the identical call and compare what it says. */
export function storeInDoubt(what: string, cause?: unknown): SagacityError {
  return new SagacityError(
    'STORE_IN_DOUBT',
    `${what} The database did not answer, so the write may or may not have happened. Make the same call again: it ` +
      'finds out, and nothing is done twice.',
    { cause, retryable: true },
  );
}

/** The database cannot carry the store as it is set up; somebody has to change that. */
export function storeUnusable(what: string, remedy: string, facts: ErrorFacts = {}, cause?: unknown): SagacityError {
  return new SagacityError('STORE_UNUSABLE', what, { facts, cause, remedy });
}

/** Nothing of the submission counts unless the caller's transaction does; `cause` holds the SQLSTATE, if there is one. */
export function transactionBroken(what: string, remedy: string, cause?: unknown): SagacityError {
  return new SagacityError('TRANSACTION_BROKEN', what, { cause, remedy });
}

export function schemaOutdated(what: string, remedy: string, facts: ErrorFacts = {}): SagacityError {
  return new SagacityError('SCHEMA_OUTDATED', what, { facts, remedy });
}
