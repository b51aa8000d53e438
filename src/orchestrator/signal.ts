/**
 * What is said to a saga from outside: a defined signal, or an event for a machine of the author's. It is kept once under
 * its name and event id, whether the saga is there yet or not, and stays kept until the saga takes it, can take it no
 * more, or it expires; only the owner's turn decides which, and whoever sent it can ask what became of it.
 */

import { fingerprintOf } from '../domain/canonical.ts';
import { encode } from '../domain/codec.ts';
import { type Duration, milliseconds } from '../domain/duration.ts';
import { inputInvalid, signalConflict, signalRefused } from '../domain/errors.ts';
import type { Json } from '../domain/json.ts';
import { refuseTooLong } from '../domain/limits.ts';
import { isLibraryEvent } from '../domain/library-event.ts';
import { assertKeyText, assertTogether, KEY_LENGTH_MAX, SCOPE_BYTES_MAX, TENANT_LENGTH_MAX } from '../domain/text.ts';
import { validate } from '../define/schema.ts';
import type { Signal } from '../define/signal.ts';
import type { NewSignal, OperationRef, SignalRef, SignalRow, StoreInTransaction, Transaction } from '../ports/store.ts';
import { existingSaga } from './command.ts';
import type { Decided, Deciding } from './decide.ts';
import type { SignalGiven } from './handover.ts';
import { nextChange } from './watchers.ts';

/** An event for the chart of a saga; `type` names it, the rest is its own. */
export interface SignalEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface SignalOptions {
  /** Names the event where it comes from: given twice, it is heard once. */
  readonly eventId: string;
  /**
   * What becomes of one that the saga does not take where it stands: kept until it does (the default), or refused at once.
   */
  readonly early?: 'keep' | 'refuse';
  /** How long it is kept, by the database's clock, from when it came. Default `'7d'`. */
  readonly keepFor?: Duration;
  /** How long to wait for what becomes of it. Default `'10s'`. */
  readonly within?: Duration;
  /** Your own transaction: the signal is sent with its commit, or not at all, and is not waited for. */
  readonly tx?: Transaction;
}

/**
 * What became of an event. `waiting`: it is kept, and no turn has taken it. `refused`: the saga can take it no more, and
 * why. `unknown`: none of this name and event id was sent to that saga.
 */
export type SignalStatus =
  | { readonly status: 'waiting' | 'applied' | 'expired' | 'unknown' }
  | { readonly status: 'refused'; readonly why: string };

/** A signal or the name of one, or of an event. */
export interface SignalQuestion {
  readonly signal: string | Pick<Signal, 'name'>;
  readonly eventId: string;
}

/** A saga as a sender names it. Only a name and key can be those of one that is not there yet. */
export interface Addressee {
  readonly ref: OperationRef;
  readonly mayBeMissing: boolean;
}

type Sending = Omit<Deciding, 'definitions'> & {
  readonly within: (transaction: Transaction) => Promise<StoreInTransaction>;
};

const WITHIN: Duration = '10s';
const KEEP_FOR: Duration = '7d';

/** Sends what a definition describes. Rejects with INPUT_INVALID for a payload that its schema refuses. */
export async function sendSignal(
  sending: Sending,
  to: Addressee,
  { name, payload }: Signal,
  submitted: unknown,
  options: SignalOptions,
): Promise<Decided> {
  const given = await validate(payload, submitted, `The payload of ${name}`);
  return await send(sending, to, { type: name, payload: given }, true, options);
}

/** Sends an event to a machine of its author's. */
export async function sendEvent(
  sending: Sending,
  to: Addressee,
  event: SignalEvent,
  options: SignalOptions,
): Promise<Decided> {
  assertKeyText('event type', event.type, KEY_LENGTH_MAX);
  if (isLibraryEvent(event.type)) {
    throw inputInvalid(`Only the library gives the event ${event.type} to a chart. Give yours another name.`);
  }
  return await send(sending, to, { ...event }, false, options);
}

async function send(
  { store, clock, watchers, driver, limits, within: joined }: Sending,
  { ref, mayBeMissing }: Addressee,
  event: SignalEvent,
  isDefined: boolean,
  { eventId, early = 'keep', keepFor = KEEP_FOR, within = WITHIN, tx }: SignalOptions,
): Promise<Decided> {
  assertNamed(ref);
  assertKeyText('event id', eventId, KEY_LENGTH_MAX);
  assertTogether({ tenant: ref.tenant, saga: ref.id, signal: event.type, eventId }, SCOPE_BYTES_MAX);
  if (early !== 'keep' && early !== 'refuse') throw inputInvalid("early is neither 'keep' nor 'refuse'.");
  // Refused here what no store could keep, with the path.
  const kept = encode(event, { onUnsupported: 'refuse', rootName: 'event' });
  refuseTooLong(`Signal ${event.type}`, kept, limits);
  const keepForMs = milliseconds(keepFor, 'keepFor');
  const deadline = clock.monotonic() + milliseconds(within, 'within');
  const given: NewSignal = {
    ...{ tenant: ref.tenant, id: ref.id, name: event.type, eventId, keepForMs },
    fingerprint: fingerprintOf(event, { volatile: [] }),
    handoverId: `signal ${JSON.stringify([event.type, eventId])}`,
    body: bodyOf({ kind: 'signal', name: event.type, eventId, event, isDefined, isNowOrNever: early === 'refuse' }),
  };
  if (tx !== undefined) {
    const told = await (await joined(tx)).signal(given);
    refuseConflict(told, given);
    return decidedBy(told);
  }
  const saga = mayBeMissing ? await store.readSaga(ref) : await existingSaga(store, ref);
  const sent = await driver.deliver(ref, () => store.signal(given), deadline);
  refuseConflict(sent, given);
  // Nobody is there yet to hear it.
  if (saga === null) return decidedBy(sent);
  for (let row = sent; ; ) {
    const changed = nextChange(ref, clock, watchers, deadline);
    try {
      if (row.state !== 'new' || watchers.isClosed || clock.monotonic() >= deadline) return decidedBy(row);
      await changed.promise;
    } finally {
      changed.forget();
    }
    row = (await store.readSignal(given)) ?? row;
  }
}

/** What the hand-over says; the store adds when it expires. */
function bodyOf(said: Omit<SignalGiven, 'expiresAt'>): Json {
  return encode(said, { onUnsupported: 'refuse', rootName: 'signal' });
}

function refuseConflict({ fingerprint }: SignalRow, given: NewSignal): void {
  if (fingerprint !== given.fingerprint) throw signalConflict(given.id, given.name, given.eventId);
}

function decidedBy(row: SignalRow): Decided {
  const { id, name } = row;
  const became = statusOf(row);
  if (became.status === 'refused') throw signalRefused(id, name, became.why);
  if (became.status === 'expired')
    throw signalRefused(id, name, 'it expired before the saga came to where it takes it');
  return { status: became.status === 'applied' ? 'applied' : 'waiting' };
}

/** What became of an event that was sent. */
export async function signalStatus(
  { store }: Pick<Sending, 'store'>,
  ref: OperationRef,
  { signal, eventId }: SignalQuestion,
): Promise<SignalStatus> {
  assertNamed(ref);
  assertKeyText('event id', eventId, KEY_LENGTH_MAX);
  const name = typeof signal === 'string' ? signal : signal.name;
  assertKeyText('signal', name, KEY_LENGTH_MAX);
  const asked: SignalRef = { ...ref, name, eventId };
  const row = await store.readSignal(asked);
  return row === null ? { status: 'unknown' } : statusOf(row);
}

function statusOf({ state, why, expiresAt, now }: SignalRow): SignalStatus {
  if (state === 'refused') return { status: 'refused', why: why ?? 'it was refused' };
  if (state === 'applied' || state === 'expired') return { status: state };
  // Nobody may come by who could say so: its saga may never be there.
  return { status: expiresAt <= now ? 'expired' : 'waiting' };
}

function assertNamed({ tenant, id }: OperationRef): void {
  assertKeyText('tenant', tenant, TENANT_LENGTH_MAX);
  assertKeyText('saga id', id, KEY_LENGTH_MAX);
}
