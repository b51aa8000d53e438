/**
 * Carries out one recorded attempt. Whatever an executor throws is unknown, and so is one that does not end in time:
 * it is aborted, and what it still brings later is evidence. Nothing here decides what follows.
 */

import { type Limits, tooLong } from '../domain/limits.ts';
import type { AttemptResult } from '../domain/attempt.ts';
import { encode } from '../domain/codec.ts';
import type { Contract } from '../domain/contract.ts';
import { errorRecord } from '../domain/error-record.ts';
import { formatDuration } from '../domain/duration.ts';
import { isOutcome, type Outcome } from '../domain/outcome.ts';
import { RETRY_AFTER_MAX_MS } from '../domain/reply.ts';
import type { Operation } from '../define/operation.ts';
import { validate } from '../define/schema.ts';
import { cutText } from '../domain/text.ts';
import type { Call, Caller } from '../ports/caller.ts';
import type { Clock } from '../ports/clock.ts';
import type { Attempted, Sender, SendingAttempt } from '../ports/sender.ts';
import type { OperationRef } from '../ports/store.ts';

/** One attempt to be made. */
export interface Attempting {
  readonly ref: OperationRef;
  readonly definition: Operation;
  readonly input: unknown;
  readonly idempotencyKey: string;
  /** As it was when the operation was submitted. */
  readonly contract: Contract | null;
  /** By the store's clock; the same for all that its key counts from. */
  readonly firstSentAt: number;
  readonly number: number;
  readonly timeoutMs: number;
  readonly abort: AbortController;
  /** Null when it may leave; otherwise why it may not any more. */
  readonly mayLeave: () => string | null;
  /** What the executor brought after its time was over. */
  readonly late: (result: AttemptResult) => void;
}

/** What an attempt and a look-up go by on their way out. */
export interface Outside {
  readonly clock: Clock;
  readonly caller: Caller;
  readonly sender: Sender;
  readonly limits: Limits;
}

/** How an attempt ended: what it proves, and what the history tells about it. */
export interface AttemptEnd {
  readonly result: AttemptResult;
  readonly body: Readonly<Record<string, unknown>>;
  /** It was not sent because its provider could not be reached. */
  readonly isUnreached?: true;
}

/** A refusal's code is cut to this, in UTF-16 units; a longer reference is no name. */
const CODE_LENGTH_MAX = 200;
const REFERENCE_LENGTH_MAX = 500;

export async function perform(attempting: Attempting, outside: Outside): Promise<AttemptEnd> {
  const forbidden = attempting.mayLeave();
  if (forbidden !== null) return endOf({ type: 'not-applied', reason: forbidden, sent: false });
  const { clock, sender } = outside;
  const began = clock.monotonic();
  const { timeoutMs } = attempting;
  const attempted = sender.attempt(sendingOf(attempting));
  let over = false;
  const executed = execute(attempting, attempted, outside).then((end) => {
    if (over) attempting.late(end.result);
    return end;
  });
  const end = await new Promise<AttemptEnd>((resolve) => {
    const giveUp = (reason: string) => {
      if (over) return;
      over = true;
      // What has not left by now never will, and that is proof.
      resolve(endWith(attempted, attempted.shut() ?? attempted.seen()?.result ?? { type: 'unknown', reason }));
    };
    const cancelTimer = clock.after(timeoutMs, () => {
      giveUp(`no reply within ${formatDuration(timeoutMs)}`);
      attempting.abort.abort(new Error('The attempt took longer than its timeout.'));
    });
    void executed.then((done) => {
      cancelTimer();
      if (over) return;
      over = true;
      resolve(done);
    });
    attempting.abort.signal.addEventListener('abort', () => {
      // An executor that honours the signal may still tell what it knows; one that does not is not waited for.
      clock.after(ABORT_GRACE_MS, () => {
        cancelTimer();
        giveUp('aborted');
      });
    });
  });
  return { ...end, body: { ...end.body, ms: Math.round(clock.monotonic() - began) } };
}

const ABORT_GRACE_MS = 200;

/** On whose behalf `http` sends. */
function sendingOf({ ref, definition, abort, ...attempting }: Attempting): SendingAttempt {
  const { action, provider } = definition;
  return { ...attempting, tenant: ref.tenant, action, provider, signal: abort.signal };
}

async function execute(attempting: Attempting, attempted: Attempted, { caller, limits }: Outside): Promise<AttemptEnd> {
  const { ref, definition, input, idempotencyKey, number, abort } = attempting;
  const call: Call = { kind: 'request', tenant: ref.tenant, operationId: ref.id, action: definition.action };
  let outcome: unknown;
  try {
    const { http } = attempted;
    const context = { input, idempotencyKey, attempt: number, abortSignal: abort.signal, http };
    outcome = await caller(call, () => definition.options.execute(context));
  } catch (thrown) {
    const proven = attempted.seen()?.result ?? { type: 'unknown', reason: 'the executor threw' };
    return endWith(attempted, proven, { error: errorRecord(thrown) });
  }
  return endWith(attempted, asSeen(await resultOf(definition, outcome, limits), attempted));
}

/** An executor that does not know what became of it does not take back that another send is no way to find out. */
function asSeen(result: AttemptResult, attempted: Attempted): AttemptResult {
  const seen = attempted.seen()?.result;
  const isToAsk = result.type === 'unknown' && seen?.type === 'unknown' && seen.sendAgain === 'ask-first';
  return isToAsk ? { ...result, sendAgain: 'ask-first' } : result;
}

/** With what was seen of its request, if it went by `http`. */
function endWith(
  attempted: Attempted,
  result: AttemptResult,
  more: Readonly<Record<string, unknown>> = {},
): AttemptEnd {
  const seen = attempted.seen();
  if (seen === null) return endOf(result, more);
  const { told, alarm, isUnreached } = seen;
  const end = endOf(result, { ...more, reply: told, ...(alarm === null ? {} : { alarm }) });
  return isUnreached ? { ...end, isUnreached } : end;
}

/** The end of an attempt with this result; `more` is told beside it. */
export function endOf(result: AttemptResult, more: Readonly<Record<string, unknown>> = {}): AttemptEnd {
  const { type: outcome, ...told } = result;
  return { result, body: { outcome, ...told, ...more } };
}

/** What an executor or a look-up said, with an output that can be kept; anything else is unknown. */
export async function resultOf(definition: Operation, said: unknown, limits: Limits): Promise<AttemptResult> {
  const outcome = outcomeIn(said);
  if (outcome === null) return { type: 'unknown', reason: 'the executor returned no outcome' };
  if (outcome.type !== 'succeeded') return outcome;
  const reference = outcome.reference === undefined ? {} : { reference: outcome.reference };
  try {
    const schema = definition.options.output;
    const output = encode(
      schema === null ? outcome.output : await validate(schema, outcome.output, `The output of ${definition.action}`),
      {
        onUnsupported: 'mark',
      },
    );
    const reason = tooLong('its output', output, limits);
    if (reason !== null) return { type: 'succeeded-unusably', reason, ...reference };
    return { type: 'succeeded', output, ...reference };
  } catch {
    return { type: 'succeeded-unusably', reason: 'its output does not fit its schema', ...reference };
  }
}

/** What was said, read once and as plain values: whatever breaks when it is looked at is no outcome. */
function outcomeIn(said: unknown): Outcome | null {
  try {
    if (!isOutcome(said)) return null;
    switch (said.type) {
      case 'succeeded':
        return { type: 'succeeded', output: said.output, ...referenceIn(said) };
      case 'failed':
        return {
          type: 'failed',
          code: cutText(said.code, CODE_LENGTH_MAX),
          ...(said.speaksFor === 'key' ? { speaksFor: 'key' } : {}),
        };
      case 'not-applied':
        return {
          ...{ type: 'not-applied', reason: said.reason },
          ...(said.sent === false ? { sent: false } : {}),
          ...retryAfterIn(said),
          ...(said.longestPause === true ? { longestPause: true } : {}),
        };
      case 'unknown':
        return {
          ...{ type: 'unknown', reason: said.reason },
          ...(said.sendAgain === 'ask-first' ? { sendAgain: 'ask-first' } : {}),
          ...retryAfterIn(said),
        };
    }
  } catch {
    return null;
  }
}

/** A pause that is none is not asked for. */
function retryAfterIn({ retryAfterMs: asked }: { readonly retryAfterMs?: unknown }): { retryAfterMs?: number } {
  if (typeof asked !== 'number' || !(asked >= 0)) return {};
  return { retryAfterMs: Math.min(Math.ceil(asked), RETRY_AFTER_MAX_MS) };
}

/** A name that cannot tell two records apart is none; the effect is proven without it. */
function referenceIn(said: { readonly reference?: unknown }): { reference?: string } {
  try {
    const { reference } = said;
    if (typeof reference === 'number' || typeof reference === 'bigint') return { reference: String(reference) };
    return typeof reference === 'string' && reference.length <= REFERENCE_LENGTH_MAX ? { reference } : {};
  } catch {
    return {};
  }
}
