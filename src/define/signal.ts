/**
 * `signal()`: what can be said to a saga from outside, an approval or a webhook's news, described once. A saga waits for
 * it with `waitFor`; whoever has something to say sends it with `orchestrator.signal`. It guarantees that nothing runs
 * here and that its payload has been through its schema before anything is kept.
 */

import { definitionInvalid } from '../domain/errors.ts';
import { isLibraryEvent } from '../domain/library-event.ts';
import { refuseBadName } from './definition-name.ts';
import { madeBy } from './made-at.ts';
import { hasType, refuseMissing, refuseUnless, type Subject } from './option-kinds.ts';
import { refuseUnknownOptions } from './option-names.ts';
import { isSchema, type Schema } from './schema.ts';

/** A defined signal. `Payload` is what the saga gets, `Submitted` what is sent; they differ where the schema transforms. */
export interface Signal<Name extends string = string, Payload = unknown, Submitted = Payload> {
  readonly type: 'signal';
  readonly name: Name;
  readonly payload: Schema;
  readonly '~types'?: { readonly payload: Payload; readonly submitted: Submitted };
}

export interface SignalDefinition<Submitted, Payload> {
  /** A Standard Schema or `typed<T>()`. Its output is what is kept and given to the saga. */
  readonly payload: Schema<Submitted, Payload>;
}

/**
 * Defines a signal. Its name is the type of the event that a chart is given, which has the payload as `payload`.
 *
 * @example
 * const approved = signal('approved', { payload: typed<{ by: string }>() });
 */
export function signal<const Name extends string, Submitted, Payload>(
  name: Name,
  options: SignalDefinition<Submitted, Payload>,
): Signal<Name, Payload, Submitted> {
  refuseBadName('The name of a signal', name, "Give it a stable name such as 'approved'.");
  const subject: Subject = { called: `signal ${name}`, facts: { signal: name } };
  if (isLibraryEvent(name)) {
    throw definitionInvalid(
      `The name of ${subject.called} is an event that only the library gives to a chart.`,
      "Name it by what it says to the business: 'approved'.",
      subject.facts,
    );
  }
  refuseUnless(typeof options === 'object' && options !== null, subject, 'options', '{ payload: typed<T>() }');
  refuseUnknownOptions(subject.called, options, ['payload']);
  refuseMissing(subject, { ...options }, { payload: 'a Standard Schema, or typed<T>()' });
  refuseUnless(isSchema(options.payload), subject, 'payload', 'a Standard Schema, or typed<T>()');
  // Who sends it hands over what has been through the schema; the static types have done their work at this call.
  return madeBy(signal, Object.freeze({ type: 'signal', name, payload: options.payload as Schema }));
}

/** True for what {@link signal} returns. An event of that type has no payload that is a schema. */
export function isSignal(value: unknown): value is Signal {
  return hasType(value, 'signal') && isSchema((value as { readonly payload?: unknown }).payload);
}
