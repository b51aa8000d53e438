/**
 * One turn of an operation, computed: what happened goes in, the next row of the chart and the records of its history
 * come out. Pure; nothing has happened until the store has written it. Several hand-overs and the event they waited
 * for make one turn.
 */

import { type AttemptResult, type History, lookupAnswered, wordReceived } from '../domain/attempt.ts';
import type { Json } from '../domain/json.ts';
import { encode } from '../domain/codec.ts';
import { isSettled, type OperationState } from '../domain/operation-state.ts';
import { type Facts, type Policy, proof } from '../domain/policy.ts';
import type { Kernel, Turn as KernelTurn } from '../kernel/kernel.ts';
import type { KernelEvent, KernelRow } from '../kernel/row.ts';
import type { LookupAnswer, OperationEvent, RetryOf } from '../../machines/operation.ts';
import type { Handover, NewRecord, RecordKind } from '../ports/store.ts';
import {
  type CompensationVerdict,
  type Evidence,
  fromBody,
  type SaidOfOperation,
  type Verdict,
  type Verified,
} from './handover.ts';
import { isOutcome } from '../domain/outcome.ts';
import { contextOf, stateOf, withFacts } from './row.ts';

/** What happened to an operation. `generation` is the one the chart gave to what ended or fired. */
export type OperationHappening =
  | { readonly type: 'due'; readonly generation: number }
  | {
      readonly type: 'attempt.ended';
      readonly generation: number;
      readonly result: AttemptResult;
      readonly body: Readonly<Record<string, unknown>>;
    }
  | {
      readonly type: 'lookup.answered';
      readonly generation: number;
      readonly answer: LookupAnswer;
      readonly body: Readonly<Record<string, unknown>>;
    }
  | { readonly type: 'handed.over'; readonly handovers: readonly Handover[] }
  /** Its saga has something to tell it. */
  | { readonly type: 'told'; readonly event: OperationEvent; readonly why: Readonly<Record<string, unknown>> }
  /** Nothing happened; the operation is given back. */
  | { readonly type: 'released' };

/** A turn that can be written. */
export interface Advance {
  readonly row: KernelRow;
  readonly records: readonly NewRecord[];
  readonly takes: readonly string[];
  readonly contradicted: boolean;
  /** What became of each hand-over, for those who wait for it. */
  readonly answers: ReadonlyMap<string, HandoverAnswer>;
}

/** What became of a hand-over. */
export type HandoverAnswer = { readonly accepted: true } | { readonly accepted: false; readonly why: string };

/** The birth of an operation, with its first attempt when there is a permit. */
export function birth(
  kernel: Kernel,
  policy: Policy,
  facts: Facts,
  startNow: boolean,
  retryOf: RetryOf | null = null,
): Advance {
  const born = kernel.start({ policy, facts, retryOf });
  const pause = born.row.timers['due'];
  const started = startNow && pause !== undefined ? kernel.fire(born.row, 'due', pause.generation) : null;
  const turn = started ?? born;
  const states = [...born.visited, ...(started?.visited ?? [])];
  const told = retryOf === null ? {} : { retryOf: retryOf.id };
  return written(turn.row, [fact(started === null ? 'moved' : 'start', turn.row, told)], states);
}

/**
 * The turn that follows from what happened, or null when it came too late to change anything. `seen` names the history
 * that `row` stands for.
 */
export function advance(
  kernel: Kernel,
  row: KernelRow,
  seen: string,
  happening: OperationHappening,
  facts: Facts,
): Advance | null {
  const from = withFacts(row, facts);
  switch (happening.type) {
    case 'due': {
      const turn = kernel.fire(from, 'due', happening.generation);
      if (turn === null) return null;
      const starts = stateOf(turn.row) === 'in-progress';
      const assumed = lostStartIn(row, turn.row);
      const records = assumed.length > 0 ? assumed : [fact(starts ? 'start' : 'moved', turn.row, {})];
      return written(turn.row, records, turn.visited);
    }
    case 'attempt.ended': {
      const turn = kernel.settle(from, 'attempt', happening.generation, { output: happening.result });
      if (turn === null) return null;
      return written(turn.row, [fact('end', row, happening.body), ...lostStartIn(row, turn.row)], turn.visited);
    }
    case 'lookup.answered': {
      // A process that was suspended believes itself earlier than the store said when the look-up began.
      const now = Math.max(facts.now, happening.answer.beganAt);
      const asked = withFacts(row, { ...facts, now });
      const turn = kernel.settle(asked, 'lookup', happening.generation, { output: happening.answer });
      if (turn === null) return null;
      return written(turn.row, [fact('lookup', row, happening.body), ...lostStartIn(row, turn.row)], turn.visited);
    }
    case 'handed.over':
      return takeOver(kernel, from, seen, happening.handovers);
    case 'told': {
      if (!kernel.accepts(from, asEvent(happening.event))) return null;
      const turn = step(kernel, from, happening.event);
      const told = fact('moved', turn.row, { event: happening.event.type, ...happening.why });
      return written(turn.row, [told, ...lostStartIn(row, turn.row)], turn.visited);
    }
    case 'released':
      return written(from, [], []);
  }
}

/** Evidence first, so that a decision is measured against everything that was known when it is applied. */
function takeOver(kernel: Kernel, from: KernelRow, seen: string, handovers: readonly Handover[]): Advance {
  const said = handovers.map((handover) => ({ handover, body: readable(handover) }));
  const inOrder = [
    ...said.filter(({ body }) => body?.kind === 'evidence'),
    ...said.filter(({ body }) => body?.kind !== 'evidence'),
  ];
  const answers = new Map<string, HandoverAnswer>();
  const records: NewRecord[] = [];
  const states: unknown[] = [];
  let row = from;
  let moved = false;
  let contradicted = false;
  for (const { handover, body } of inOrder) {
    if (body === null) {
      answers.set(handover.handoverId, unreadable);
      records.push(unreadRecord(handover));
      continue;
    }
    const applied = apply(kernel, row, body, seen, moved);
    contradicted ||= applied.contradicted;
    moved = true;
    records.push({
      kind: recordKind(body),
      attempt: body.kind === 'evidence' ? body.attempt : null,
      body: encode({ ...toldOf(body), ...applied.answer, handoverId: handover.handoverId }, { onUnsupported: 'mark' }),
    });
    answers.set(handover.handoverId, applied.answer);
    states.push(...applied.visited);
    row = applied.row;
  }
  return {
    ...written(row, [...records, ...lostStartIn(from, row)], states),
    ...{ answers, contradicted, takes: handovers.map(({ handoverId }) => handoverId) },
  };
}

const unreadable: HandoverAnswer = { accepted: false, why: 'this version cannot read it' };

/** Null when this version cannot read it: then it teaches nothing, moves nothing, and is recorded as it came. */
function readable(handover: Handover): SaidOfOperation | null {
  try {
    const said: unknown = fromBody(handover.body);
    return isHandedOver(said) ? said : null;
  } catch {
    return null;
  }
}

function isHandedOver(said: unknown): said is SaidOfOperation {
  const { kind, attempt, timeline, changedAt, outcome, finding, seen, by, effect, saga, settledJoiners } =
    membersOf(said);
  switch (kind) {
    case 'evidence':
      return (
        Number.isSafeInteger(attempt) &&
        (timeline === undefined || typeof timeline === 'string') &&
        (isOutcome(outcome) || isUnusableSuccess(outcome))
      );
    case 'cancel':
      return typeof by === 'string';
    case 'verification':
      return typeof timeline === 'string' && Number.isFinite(changedAt) && isClearFinding(finding);
    case 'verdict':
      return typeof by === 'string' && typeof seen === 'string' && isDecidable(outcome);
    case 'join':
      return typeof saga === 'string';
    case 'compensate-operation':
      return typeof by === 'string' && Array.isArray(settledJoiners);
    case 'compensation-verdict':
      return (
        typeof by === 'string' && typeof seen === 'string' && (effect === 'taken-back' || effect === 'left-standing')
      );
    default:
      return false;
  }
}

function isUnusableSuccess(outcome: unknown): boolean {
  const { type, reason } = membersOf(outcome);
  return type === 'succeeded-unusably' && typeof reason === 'string';
}

function isClearFinding(finding: unknown): boolean {
  const { type, records, references } = membersOf(finding);
  if (type === 'found') return Array.isArray(records) && records.length > 0 && records.every(isOutcome);
  return type === 'absent' || (type === 'found-unusably' && Array.isArray(references));
}

function isDecidable(outcome: unknown): boolean {
  return membersOf(outcome)['type'] === 'look-up' || (isOutcome(outcome) && outcome.type !== 'unknown');
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

/** Under the kind that it claims, if that is one: whoever looks for it looks there first. */
function unreadRecord({ handoverId, body }: Handover): NewRecord {
  const claimed = membersOf(body)['kind'];
  const kind = claimed === 'evidence' || claimed === 'cancel' || claimed === 'verdict' ? claimed : 'moved';
  return { kind, attempt: null, body: encode({ ...unreadable, unread: body, handoverId }, { onUnsupported: 'mark' }) };
}

interface Applied {
  readonly row: KernelRow;
  readonly visited: readonly unknown[];
  readonly answer: HandoverAnswer;
  readonly contradicted: boolean;
}

function apply(kernel: Kernel, row: KernelRow, said: SaidOfOperation, seen: string, moved: boolean): Applied {
  switch (said.kind) {
    case 'evidence':
      return isSettled(stateOf(row)) ? setBeside(row, said) : taken(step(kernel, row, received(said)));
    case 'cancel':
      return isSettled(stateOf(row))
        ? refused(row, `it is ${stateOf(row)} already, and success wins`)
        : taken(step(kernel, row, { type: 'cancel.requested' }));
    case 'verdict':
    case 'compensation-verdict':
      return decide(kernel, row, said, seen, moved);
    case 'verification':
      return verified(row, said);
    case 'join':
      return join(kernel, row, { type: 'join.requested', saga: said.saga });
    case 'compensate-operation':
      return beginCompensation(kernel, row, said.settledJoiners);
  }
}

function beginCompensation(kernel: Kernel, row: KernelRow, settledJoiners: readonly string[]): Applied {
  if (stateOf(row) === 'compensating' || stateOf(row) === 'compensated') {
    // What is asked for is so already, or will be.
    return { row, visited: [], answer: { accepted: true }, contradicted: false };
  }
  const open = contextOf(row).joined.filter((id) => !settledJoiners.includes(id));
  if (open.length > 0) return refused(row, `sagas that have joined it are not settled: ${open.join(', ')}`);
  const event: OperationEvent = { type: 'compensation.begun', unsettledJoiners: 0 };
  if (!kernel.accepts(row, asEvent(event))) return refused(row, `it is ${stateOf(row)}, not succeeded`);
  return taken(step(kernel, row, event));
}

function join(kernel: Kernel, row: KernelRow, event: OperationEvent): Applied {
  if (!kernel.accepts(row, asEvent(event))) return refused(row, `it is ${stateOf(row)}`);
  return taken(step(kernel, row, event));
}

function decide(
  kernel: Kernel,
  row: KernelRow,
  verdict: Verdict | CompensationVerdict,
  seen: string,
  moved: boolean,
): Applied {
  if (stateOf(row) === 'in-progress') return refused(row, 'an attempt is in flight; wait for its end');
  if (moved || verdict.seen !== seen) {
    return refused(
      row,
      `it was made on history ${verdict.seen}, which is past; read it again and decide on what it says`,
    );
  }
  if (stateOf(row) !== 'escalated') return refused(row, `it is ${stateOf(row)}, not escalated`);
  const event = decisionIn(verdict);
  if (!kernel.accepts(row, asEvent(event))) return refused(row, contradictionOf(verdict));
  const applied = taken(step(kernel, row, event));
  return { ...applied, contradicted: namesAnother(row, applied.row) };
}

function decisionIn(verdict: Verdict | CompensationVerdict): OperationEvent {
  if (verdict.kind === 'compensation-verdict') {
    return { type: verdict.effect === 'taken-back' ? 'effect.takenBack' : 'effect.leftStanding' };
  }
  const { outcome } = verdict;
  return outcome.type === 'look-up' ? { type: 'lookup.requested' } : { type: 'verdict.given', outcome };
}

function contradictionOf(verdict: Verdict | CompensationVerdict): string {
  if (verdict.kind === 'compensation-verdict') return 'its inverse was not refused';
  const { type } = verdict.outcome;
  return type === 'look-up' ? 'its definition has no look-up' : `"${type}" contradicts what is proven about it`;
}

/** The decision settles the operation under another record than the one that is proven: that one is not forgotten. */
function namesAnother(before: KernelRow, after: KernelRow): boolean {
  if (!isSettled(stateOf(after))) return false;
  const [was, is] = [before, after].map((row) => proof(contextOf(row).history, contextOf(row).policy).type);
  return is === 'two-effects' && was !== is;
}

function received({ attempt, outcome, timeline }: Evidence): OperationEvent {
  return { type: 'evidence.received', attempt, outcome, ...(timeline === undefined ? {} : { timeline }) };
}

/** Evidence about something settled moves nothing; a contradiction marks it, for a person to see. */
function setBeside(row: KernelRow, { attempt, outcome, timeline }: Evidence): Applied {
  const { context, history, contradicted } = beside(row, (known) => wordReceived(known, attempt, outcome, timeline));
  return { row: { ...row, context: { ...context, history } }, visited: [], answer: { accepted: true }, contradicted };
}

/** What its provider shows of a settled operation moves nothing either; that it shows no effect may contradict it too. */
function verified(row: KernelRow, { timeline, changedAt, finding }: Verified): Applied {
  if (!isSettled(stateOf(row))) return refused(row, 'it has not settled');
  const before = contextOf(row);
  // Said again, or by who has not noticed the fail-over after it.
  if (before.verified !== null && before.verified.changedAt >= changedAt) {
    return refused(row, 'it has been verified since');
  }
  const { context, history, contradicted } = beside(row, (known) => lookupAnswered(known, finding, 'not-yet'));
  // What a person decided without an effect that was proven is not contradicted by the absence they knew.
  const isProven = proof(before.history, before.policy).type === 'effect';
  return {
    row: { ...row, context: { ...context, history, verified: { on: timeline, changedAt } } },
    visited: [],
    answer: { accepted: true },
    contradicted: contradicted || (stateOf(row) === 'succeeded' && isProven && !showsEffect(finding)),
  };
}

function showsEffect(finding: Verified['finding']): boolean {
  if (finding.type === 'found') return finding.records.some(({ type }) => type === 'succeeded');
  return finding.type === 'found-unusably';
}

/** What is learnt about something settled, except an output: what it ended with stays. */
function beside(row: KernelRow, learn: (known: History) => History) {
  const context = contextOf(row);
  const learnt = learn(context.history);
  const contradicted = contradicts(stateOf(row), context.history, learnt, context.policy);
  return { context, history: { ...learnt, result: context.history.result }, contradicted };
}

function contradicts(state: OperationState, before: History, after: History, policy: Policy): boolean {
  const was = proof(before, policy).type;
  const is = proof(after, policy).type;
  if (was === is) return false;
  if (is === 'two-effects') return true;
  // What was taken back had happened.
  return state === 'failed' ? is === 'effect' : is !== 'effect';
}

function taken(turn: KernelTurn): Applied {
  return { row: turn.row, visited: turn.visited, answer: { accepted: true }, contradicted: false };
}

function refused(row: KernelRow, why: string): Applied {
  return { row, visited: [], answer: { accepted: false, why }, contradicted: false };
}

function step(kernel: Kernel, row: KernelRow, event: OperationEvent): KernelTurn {
  return kernel.step(row, asEvent(event));
}

/** What the end of an inverse, which is its row, tells the operation that it takes back. */
export function endOfInverse(inverse: KernelRow): OperationEvent {
  if (stateOf(inverse) === 'succeeded') return { type: 'compensation.succeeded' };
  return { type: 'compensation.refused', code: contextOf(inverse).code ?? 'refused' };
}

function asEvent(event: OperationEvent): KernelEvent {
  // The chart's own events are plain objects with a type.
  return event as unknown as KernelEvent;
}

function recordKind({ kind }: SaidOfOperation): RecordKind {
  if (kind === 'verification') return 'lookup';
  if (kind === 'join') return 'moved';
  return kind === 'compensation-verdict' || kind === 'compensate-operation' ? 'verdict' : kind;
}

/** What the history tells of it; an answer of the provider is told as that of any look-up is. */
function toldOf(said: SaidOfOperation): Readonly<Record<string, unknown>> {
  if (said.kind !== 'verification') return { ...said };
  const { type: finding, ...more } = said.finding;
  return { ...said, finding, ...more };
}

function fact(kind: RecordKind, row: KernelRow, body: Readonly<Record<string, unknown>>): NewRecord {
  const attempts = contextOf(row).history.attempts.length;
  const concerns = kind === 'start' || kind === 'end';
  return { kind, attempt: concerns ? attempts : null, body: encode(body, { onUnsupported: 'mark' }) };
}

/** The record of an attempt that nobody has recorded, when the turn reckons with one. */
function lostStartIn(before: KernelRow, after: KernelRow): readonly NewRecord[] {
  const known = contextOf(before).history.attempts.length;
  return contextOf(after)
    .history.attempts.slice(known)
    .filter(({ assumedOn }) => assumedOn !== undefined)
    .map(({ number, assumedOn: timeline }) => ({
      kind: 'moved',
      attempt: number,
      body: encode({ why: 'a fail-over may have lost the start of an attempt', timeline }),
    }));
}

/** The last record of a turn tells the states it passed through. */
function written(row: KernelRow, records: readonly NewRecord[], visited: readonly unknown[]): Advance {
  const last = records.at(-1);
  const states: Json = visited.filter((state): state is string => typeof state === 'string');
  const told =
    last === undefined ? [] : [...records.slice(0, -1), { ...last, body: { ...objectOf(last.body), states } }];
  return { row, records: told, takes: [], contradicted: false, answers: new Map() };
}

function objectOf(body: Json): { readonly [name: string]: Json } {
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as { [name: string]: Json }) : {};
}
