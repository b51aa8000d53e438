/**
 * What people decide about an operation. A decision is handed over like any other word about it, bound to the history
 * it was made on; only the owner's turn applies or refuses it.
 */

import type { Limits } from '../domain/limits.ts';
import { decode, encode } from '../domain/codec.ts';
import { type Duration, milliseconds } from '../domain/duration.ts';
import { type ErrorFacts, inputInvalid, resolutionRefused } from '../domain/errors.ts';
import type { Json } from '../domain/json.ts';
import { isOutcome, type NotApplied, type Settling, type Succeeded } from '../domain/outcome.ts';
import type { Operation } from '../define/operation.ts';
import type { OperationEvent } from '../../machines/operation.ts';
import type { Clock } from '../ports/clock.ts';
import type { OperationRef, OperationRow, Store } from '../ports/store.ts';
import type { HandoverAnswer } from './advance.ts';
import type { Driver } from './driver.ts';
import { addressed } from './aggregate.ts';
import { type HandedOver, type SaidOfOperation, seenOf, type Verdict } from './handover.ts';
import { resultOf } from './perform.ts';
import { existing } from './run.ts';
import { nextChange, type Watchers } from './watchers.ts';

/** Who decides, on what ground, and on which history. */
export interface Decision {
  readonly by: string;
  /** What the decision rests on: a record's id, a mail, a look at the provider's dashboard. Kept for good. */
  readonly evidence: string;
  /** As `operator.doubts()` has it; refused when the operation has another history by now. */
  readonly seen: string;
  /** How long to wait for the decision to be applied. Default `'10s'`. */
  readonly within?: Duration;
}

/** `applied`: it is durable and the operation has moved. `waiting`: it is durable and will be applied or refused. */
export type Decided = { readonly status: 'applied' } | { readonly status: 'waiting' };

/** Whether a cancellation still came in time to be heeded; the result tells how the operation ended. */
export type Cancelled = { readonly status: 'accepted' | 'too-late' | 'waiting' };

export interface Deciding {
  readonly store: Store;
  readonly clock: Clock;
  readonly watchers: Watchers;
  readonly driver: Driver;
  /** By action; an operation of another process need not be among them. */
  readonly definitions: ReadonlyMap<string, Operation>;
  readonly limits: Limits;
}

const WITHIN: Duration = '10s';

/** What a person says of an effect whose inverse was refused: they took it back by hand, or it stands. */
export type EffectDecided = 'taken-back' | 'left-standing';

/** How a person says that it ended, as it is stored. */
type Decreed = Succeeded<Json> | Exclude<Settling, { readonly type: 'succeeded' }> | NotApplied | EffectDecided;

/** A decision as it was made: read at once, so that what the caller does to its objects later changes nothing. */
export function decreed(id: string, outcome: Settling | NotApplied | EffectDecided): Decreed {
  if (outcome === 'taken-back' || outcome === 'left-standing') return outcome;
  const type = isOutcome(outcome) ? outcome.type : 'no outcome';
  if (type !== 'succeeded' && type !== 'failed' && type !== 'not-applied') {
    throw inputInvalid(`A decision on ${id} says ${type}. Write succeeded(...), failed(code) or notApplied(reason).`);
  }
  if (outcome.type !== 'succeeded') return { ...outcome };
  return { ...outcome, output: encode(outcome.output, { onUnsupported: 'refuse', rootName: 'output' }) };
}

/**
 * Decides an escalated operation: it succeeded, it failed, or it is proven not to have been applied and is sent once
 * more. The output of a success goes through the definition's schema where it is registered here. Rejects with
 * INPUT_INVALID when that output cannot be kept, and with RESOLUTION_REFUSED when the history has moved, an attempt
 * is in flight, or the decision contradicts what is proven.
 */
export function resolve(deciding: Deciding, ref: OperationRef, outcome: Decreed, decision: Decision): Promise<Decided> {
  return decide(deciding, ref, decision, async (row) => {
    if (typeof outcome === 'string') await refuseOverInverse(deciding.store, row);
    return typeof outcome !== 'string' && outcome.type === 'succeeded'
      ? usable(ref.id, deciding.definitions.get(row.action), outcome, deciding.limits)
      : outcome;
  });
}

/**
 * An inverse that could not be begun here may have been begun by another process all the same. Read after the operation
 * was escalated: one that is recorded later is not sent any more.
 */
async function refuseOverInverse(store: Store, row: OperationRow): Promise<void> {
  if (row.reason !== 'definition-fault') return;
  const { tenant, id } = row;
  for (const { body } of await store.records(row)) {
    // Record bodies are objects of the orchestrator's own making.
    const { event, inverse } = body as { event?: string; inverse?: string };
    const begun = event === faulted && inverse !== undefined ? await store.read({ tenant, id: inverse }) : null;
    if (begun === null || begun.state === 'failed') continue;
    throw resolutionRefused(
      id,
      `its inverse ${begun.id} was begun after all; command operator.compensate, and it is followed up.`,
      { inverse: begun.id },
    );
  }
}

const faulted: OperationEvent['type'] = 'compensation.faulted';

/** The success with its output as it is stored. A person is told at once what of it cannot be kept. */
async function usable(
  id: string,
  definition: Operation | undefined,
  outcome: Succeeded<Json>,
  limits: Limits,
): Promise<Succeeded<Json>> {
  if (definition === undefined) return outcome;
  const result = await resultOf(definition, { ...outcome, output: decode(outcome.output) }, limits);
  if (result.type !== 'succeeded') {
    const why = 'reason' in result ? result.reason : `it says ${result.type}`;
    throw inputInvalid(
      `The success decided for operation ${id} cannot be used: ${why}. Give an output that ${definition.action} ` +
        'could have returned.',
      { id, action: definition.action },
    );
  }
  // `resultOf` encodes every output that it accepts.
  return { ...result, output: result.output as Json };
}

/** Asks the provider once more about an escalated operation, at a person's word. */
export function requestLookUp(deciding: Deciding, ref: OperationRef, decision: Decision): Promise<Decided> {
  return decide(deciding, ref, decision, async () => ({ type: 'look-up' }));
}

async function decide(
  deciding: Deciding,
  ref: OperationRef,
  decision: Decision,
  outcomeFor: (row: OperationRow) => Promise<Verdict['outcome'] | EffectDecided>,
): Promise<Decided> {
  refuseNameless(decision.by, 'by');
  refuseNameless(decision.evidence, 'evidence');
  const { by, evidence, seen } = decision;
  if (typeof seen !== 'string' || seen === '') {
    throw inputInvalid('seen names no history. Give back the `seen` that operator.doubts() showed.');
  }
  const row = await existing(deciding.store, ref);
  const isNow = seenOf(row);
  if (seen !== isNow) {
    throw resolutionRefused(ref.id, `it was made on history ${seen}, and that is ${isNow} now; read it again.`, {
      ...{ seen, isNow },
    });
  }
  const outcome = await outcomeFor(row);
  const said: SaidOfOperation =
    typeof outcome === 'string'
      ? { kind: 'compensation-verdict', effect: outcome, by, evidence, seen }
      : { kind: 'verdict', outcome, by, evidence, seen };
  const answer = await handOverAndWait(deciding, { ...addressed(row, said), about: ref }, decision.within);
  return decidedBy(ref, answer, { seen });
}

/** What is told of a decision by what became of its hand-over. Throws RESOLUTION_REFUSED. */
export function decidedBy({ id }: OperationRef, answer: HandoverAnswer | null, facts: ErrorFacts = {}): Decided {
  if (answer === null) return { status: 'waiting' };
  if (!answer.accepted) throw resolutionRefused(id, `${answer.why}.`, facts);
  return { status: 'applied' };
}

/** Asks for an operation to be given up. Success wins: what has happened, or may have, is not undone by this. */
export async function cancel(
  deciding: Deciding,
  ref: OperationRef,
  who: { readonly by: string; readonly reason: string; readonly within?: Duration },
): Promise<Cancelled> {
  refuseNameless(who.by, 'by');
  refuseNameless(who.reason, 'reason');
  const row = await existing(deciding.store, ref);
  const { by, reason } = who;
  if (row.saga !== null) {
    throw inputInvalid(
      `Operation ${ref.id} belongs to saga ${row.saga}, and a step is not cancelled by itself. Cancel the saga.`,
      { id: ref.id, saga: row.saga },
    );
  }
  const answer = await handOverAndWait(
    deciding,
    { ...addressed(row, { kind: 'cancel', by, reason }), about: ref },
    who.within,
  );
  return cancelledBy(answer);
}

/** The same of a cancellation, which is never refused but too late. */
export function cancelledBy(answer: HandoverAnswer | null): Cancelled {
  if (answer === null) return { status: 'waiting' };
  return { status: answer.accepted ? 'accepted' : 'too-late' };
}

export function refuseNameless(value: unknown, what: string): void {
  if (typeof value === 'string' && value.trim() !== '') return;
  throw inputInvalid(`${what} is missing. A decision is kept with who made it and why: write a non-empty text.`);
}

/** Something to be handed over: to the aggregate that owns what it is about, in whose history it is answered. */
export interface Said {
  readonly to: OperationRef;
  readonly about: OperationRef;
  readonly said: HandedOver;
}

/** Null when it is not applied within the time: it is durable, and will be. */
export async function handOverAndWait(
  { store, clock, watchers, driver }: Omit<Deciding, 'definitions' | 'limits'>,
  { to, about, said }: Said,
  within: Duration = WITHIN,
): Promise<HandoverAnswer | null> {
  const handoverId = driver.newHandoverId();
  const deadline = clock.monotonic() + milliseconds(within, 'within');
  watchers.await(handoverId);
  try {
    await driver.handOver(to, said, handoverId, deadline);
    for (;;) {
      const changed = nextChange(about, clock, watchers, deadline);
      try {
        const answer = watchers.answerTo(handoverId) ?? (await answerInHistory(store, about, handoverId));
        if (answer !== null || clock.monotonic() >= deadline) return answer;
        await changed.promise;
      } finally {
        changed.forget();
      }
    }
  } finally {
    watchers.forget(handoverId);
  }
}

async function answerInHistory(store: Store, ref: OperationRef, handoverId: string): Promise<HandoverAnswer | null> {
  for (const { body } of await store.records(ref)) {
    // Record bodies are objects of the orchestrator's own making.
    const told = body as { handoverId?: string; accepted?: boolean; why?: string };
    if (told.handoverId !== handoverId) continue;
    return told.accepted === false ? { accepted: false, why: told.why ?? 'it was refused' } : { accepted: true };
  }
  return null;
}
