/**
 * Asks the provider once what became of an operation. A look-up changes nothing there and proves only what it says:
 * one that throws, or does not answer in time, is inconclusive.
 */

import type { Contract } from '../domain/contract.ts';
import type { Limits } from '../domain/limits.ts';
import { errorRecord } from '../domain/error-record.ts';
import type { Operation } from '../define/operation.ts';
import { formatDuration } from '../domain/duration.ts';
import { areSeveral, type AttemptResult, type SucceededUnusably } from '../domain/attempt.ts';
import type { Finding, Settling, Succeeded } from '../domain/outcome.ts';
import type { LookupAnswer } from '../../machines/operation.ts';
import type { Call } from '../ports/caller.ts';
import type { OperationRef } from '../ports/store.ts';
import { type Outside, resultOf } from './perform.ts';

export interface LookingUp {
  readonly ref: OperationRef;
  readonly definition: Operation;
  readonly input: unknown;
  readonly idempotencyKey: string;
  /** As it was when the operation was submitted. */
  readonly contract: Contract | null;
  /** The store's time, read before this look-up begins. */
  readonly beganAt: number;
  readonly timeoutMs: number;
  readonly abort: AbortController;
}

export interface LookupEnd {
  readonly answer: LookupAnswer;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function lookUp(looking: LookingUp, outside: Outside): Promise<LookupEnd> {
  const { clock } = outside;
  const { beganAt, abort, timeoutMs } = looking;
  let cancelTimer = () => {};
  const timedOut = new Promise<Told>((resolve) => {
    cancelTimer = clock.after(timeoutMs, () => {
      resolve(unsure(`no answer within ${formatDuration(timeoutMs)}`));
      abort.abort(new Error('The look-up took longer than the timeout.'));
    });
    abort.signal.addEventListener('abort', () => resolve(unsure('aborted')));
  });
  const { finding, body } = await Promise.race([ask(looking, outside), timedOut]);
  cancelTimer();
  return { answer: { finding, beganAt }, body: { ...body, beganAt } };
}

interface Told {
  readonly finding: LookupAnswer['finding'];
  readonly body: Readonly<Record<string, unknown>>;
}

function unsure(reason: string, more: Readonly<Record<string, unknown>> = {}): Told {
  return { finding: { type: 'inconclusive', reason }, body: { finding: 'inconclusive', reason, ...more } };
}

async function ask(looking: LookingUp, { caller, sender, limits }: Outside): Promise<Told> {
  const { ref, definition, input, idempotencyKey, contract, timeoutMs, abort } = looking;
  const { action, provider, options } = definition;
  const { find } = options;
  if (find === null) return unsure('the definition has no look-up');
  const call: Call = { kind: 'question', tenant: ref.tenant, operationId: ref.id, action };
  try {
    const { signal } = abort;
    const { tenant } = ref;
    const http = sender.lookUp({ tenant, action, provider, contract, idempotencyKey, timeoutMs, signal });
    const context = { input, idempotencyKey, abortSignal: signal, http };
    return await told(definition, await caller(call, () => find(context)), limits);
  } catch (thrown) {
    return unsure('the look-up threw', { error: errorRecord(thrown) });
  }
}

/** Throws when the answer breaks as it is read. */
async function told(definition: Operation, said: unknown, limits: Limits): Promise<Told> {
  if (!isFinding(said)) return unsure('the look-up returned no finding');
  if (said.type === 'inconclusive') return unsure(said.reason);
  if (said.type === 'absent') return { finding: said, body: { finding: 'absent' } };
  const results: AttemptResult[] = [];
  for (const record of said.records) results.push(await resultOf(definition, record, limits));
  return toldBy(results);
}

/** Every record counts: one that cannot be used is an effect like another, and may be a second one. */
function toldBy(results: readonly AttemptResult[]): Told {
  const settled = results.filter(isSettling);
  const effects = results.filter(isEffect);
  const unusable = effects.filter(isUnusable);
  const references = effects.map(({ reference }) => reference ?? null);
  const isSeveral = areSeveral(references);
  if (!isSeveral && settled.length + unusable.length < results.length) {
    return unsure('the record found is not settled');
  }
  const [flawed] = unusable;
  // One record that is told twice can be used as soon as one telling can.
  if (flawed !== undefined && (isSeveral || unusable.length === effects.length)) {
    const why = flawed.reason;
    return {
      finding: { type: 'found-unusably', references, why },
      body: { finding: 'found', unusable: why, references },
    };
  }
  const [first, ...more] = settled;
  if (first === undefined) return unsure('the look-up found no record');
  return { finding: { type: 'found', records: [first, ...more] }, body: { finding: 'found', records: settled } };
}

function isEffect(result: AttemptResult): result is Succeeded<unknown> | SucceededUnusably {
  return result.type === 'succeeded' || result.type === 'succeeded-unusably';
}

function isUnusable(result: AttemptResult): result is SucceededUnusably {
  return result.type === 'succeeded-unusably';
}

function isSettling(result: AttemptResult): result is Settling {
  return result.type === 'succeeded' || result.type === 'failed';
}

function isFinding(said: unknown): said is Finding {
  if (typeof said !== 'object' || said === null || !('type' in said)) return false;
  if (said.type === 'found') return 'records' in said && Array.isArray(said.records);
  return said.type === 'absent' || said.type === 'inconclusive';
}
