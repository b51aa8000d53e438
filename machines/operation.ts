/**
 * These are the library's own charts; yours live in your service.
 *
 * The chart of every operation, whatever it does and to whom: from a recorded intention to a proven outcome, or to a
 * person. It holds the states and the order of the questions; the answers are the pure functions of `domain/policy`.
 * It performs nothing itself: `attempt` and `lookup` are actors that the orchestrator carries out after they have
 * been recorded, and that a designer scripts with `operationMachine.provide({ actors })`.
 */

import { assign, cancel, fromPromise, raise, setup } from 'xstate';
import {
  absenceExpired,
  absenceStated,
  attemptLearnt,
  attemptStarted,
  type AttemptResult,
  type FoundUnusably,
  type History,
  lookupAnswered,
  lostStartAssumed,
  noHistory,
  outcomeStated,
  wordReceived,
} from '../src/domain/attempt.ts';
import type { EscalationReason } from '../src/domain/operation-state.ts';
import type { Finding, Settling } from '../src/domain/outcome.ts';
import {
  absenceCounts,
  attemptPauseMs,
  type Facts,
  failureOf,
  hasEffect,
  keyCounts,
  lookupGivesUp,
  lookupPauseMs,
  mayResubmitUnasked,
  mayStart,
  mayStartAfresh,
  mayTryAgain,
  type Policy,
  proof,
  reasonWithoutLookup,
  REFUSED_SENDS_MAX,
  startMayBeLost,
} from '../src/domain/policy.ts';

/** What a look-up brought back. */
export interface LookupAnswer {
  /**
   * `found-unusably`: it happened, and `why` the output of a record cannot be used. `references` names every
   * successful record of the answer, usable or not (null: it has no name); several that differ are several effects.
   */
  readonly finding: Finding | (FoundUnusably & { readonly why: string });
  /** The store's time before it began. */
  readonly beganAt: number;
}

export interface OperationContext {
  readonly policy: Policy;
  readonly history: History;
  /** Read anew before every turn; never stored. */
  readonly facts: Facts;
  /** Why it failed, once it has. */
  readonly code: string | null;
  /** Why it waits for a person, while it does. */
  readonly reason: EscalationReason | null;
  /** What the person is asked about: the operation itself, or the inverse that was refused or could not be begun. */
  readonly escalatedFrom: 'operation' | 'compensation';
  /** The refusal of its inverse, kept beside everything else. */
  readonly inverseCode: string | null;
  /** The sagas that have joined it: it is not taken back while one of them is unsettled. */
  readonly joined: readonly string[];
  /** The timeline that began with the last fail-over after which its provider was asked how it had ended. */
  readonly verified: { readonly on: string; readonly changedAt: number } | null;
  /** Null: it is the first of its key. */
  readonly retryOf: RetryOf | null;
}

/** The operation that had no effect, in the place of which this one is tried, and the key of the first of them. */
export interface RetryOf {
  readonly id: string;
  readonly key: string;
}

export interface OperationInput {
  readonly policy: Policy;
  readonly facts?: Facts;
  readonly retryOf?: RetryOf | null;
}

export type OperationEvent =
  /** The pause is over and a slot is free. */
  | { readonly type: 'due' }
  /** Something was learnt about an attempt from outside its own reply: a late result, a webhook. */
  | {
      readonly type: 'evidence.received';
      readonly attempt: number;
      readonly outcome: AttemptResult;
      /** Where the start of that attempt was recorded, if it is known. */
      readonly timeline?: string;
    }
  | { readonly type: 'cancel.requested' }
  /** A person decided how it ended; `not-applied` means: proven absent, send again. */
  | { readonly type: 'verdict.given'; readonly outcome: Settling | { readonly type: 'not-applied' } }
  | { readonly type: 'lookup.requested' }
  /** Another saga's step is this same effect. */
  | { readonly type: 'join.requested'; readonly saga: string }
  | { readonly type: 'compensation.begun'; readonly unsettledJoiners: number }
  | { readonly type: 'compensation.succeeded' }
  | { readonly type: 'compensation.refused'; readonly code: string }
  /** Its inverse had no effect and is not sent any more: what it would have taken back stands. */
  | { readonly type: 'compensation.givenUp' }
  /** The definition makes it impossible to begin its inverse. */
  | { readonly type: 'compensation.faulted' }
  /** A person decided about an effect whose inverse was refused, or could not be begun. */
  | { readonly type: 'effect.takenBack' }
  | { readonly type: 'effect.leftStanding' };

const noFacts: Facts = { now: 0, sendBy: null, windowEndsAt: null, lostStartOn: null, random: 0.5 };

/** Scripted by `provide`; on its own nobody is asked and nothing is known. */
const attempt = fromPromise<AttemptResult, { number: number }>(() =>
  Promise.resolve({ type: 'unknown', reason: 'no executor is provided' }),
);
const lookup = fromPromise<LookupAnswer, { delayMs: number }>(() =>
  Promise.resolve({ finding: { type: 'inconclusive', reason: 'no look-up is provided' }, beganAt: 0 }),
);

interface Moment {
  readonly context: OperationContext;
  readonly event: { readonly type: string };
}

/** The history with what the event says added to it; guards and actions read the same one. */
function known({ context, event }: Moment): History {
  const { history, policy, facts } = context;
  // XState types the events of invoked actors per transition only; here they are told apart by their type.
  const fact = event as OperationEvent | AttemptDone | AttemptThrew | LookupDone | LookupThrew;
  switch (fact.type) {
    case 'xstate.done.actor.attempt':
      return attemptLearnt(history, history.attempts.length, fact.output, keyCounts(policy, facts));
    case 'xstate.error.actor.attempt':
      return attemptLearnt(history, history.attempts.length, { type: 'unknown', reason: 'the executor threw' });
    case 'xstate.done.actor.lookup':
      return lookupAnswered(
        history,
        fact.output.finding,
        absenceCounts(policy, facts, fact.output.beganAt),
        keyCounts(policy, facts),
      );
    case 'xstate.error.actor.lookup':
      return lookupAnswered(history, { type: 'inconclusive', reason: 'the look-up threw' }, 'not-yet');
    case 'evidence.received':
      return wordReceived(history, fact.attempt, fact.outcome, fact.timeline, keyCounts(policy, facts));
    case 'cancel.requested':
      return { ...history, cancelled: true };
    case 'verdict.given':
      return fact.outcome.type === 'not-applied' ? absenceStated(history) : outcomeStated(history, fact.outcome);
    default:
      return history;
  }
}

type AttemptDone = { readonly type: 'xstate.done.actor.attempt'; readonly output: AttemptResult };
type AttemptThrew = { readonly type: 'xstate.error.actor.attempt' };
type LookupDone = { readonly type: 'xstate.done.actor.lookup'; readonly output: LookupAnswer };
type LookupThrew = { readonly type: 'xstate.error.actor.lookup' };

/** The answer an event brought, when it is a look-up's. */
function answerIn(event: Moment['event']): { type: LookupAnswer['finding']['type']; beganAt: number } {
  // See `known`: the event's type says which it is.
  const fact = event as LookupDone | LookupThrew;
  return fact.type === 'xstate.done.actor.lookup'
    ? { type: fact.output.finding.type, beganAt: fact.output.beganAt }
    : { type: 'inconclusive', beganAt: 0 };
}

function decides(moment: Moment, type: Settling['type'] | 'not-applied'): boolean {
  // Used on `verdict.given` only.
  const { outcome } = moment.event as Extract<OperationEvent, { type: 'verdict.given' }>;
  return outcome.type === type;
}

/** It happened, and its output is known. */
function isProvenUsable(moment: Moment): boolean {
  const proven = proof(known(moment), moment.context.policy);
  return proven.type === 'effect' && proven.usable;
}

/** It happened, and what came back cannot be used: never sent again, a look-up or a person may supply the output. */
function isProvenUnusable(moment: Moment): boolean {
  const proven = proof(known(moment), moment.context.policy);
  return proven.type === 'effect' && !proven.usable;
}

/** A start may be lost, and it matters: of what is proven to have happened nothing else is sent, and nothing fails. */
function mayHaveLostStart(moment: Moment): boolean {
  const history = known(moment);
  const { policy, facts } = moment.context;
  return startMayBeLost(history, facts) && !hasEffect(history, policy);
}

/** Evidence can settle what a person is asked about, unless it is an inverse, or which of two effects shall stand. */
function isOpenToEvidence({ escalatedFrom, reason }: OperationContext): boolean {
  return escalatedFrom === 'operation' && reason !== 'two-effects';
}

function failure(moment: Moment): string | null {
  return failureOf(known(moment), moment.context.policy, moment.context.facts);
}

/** An inverse without attempts left does not fail; a person grants it another one. */
function isExhaustedInverse(moment: Moment): boolean {
  return moment.context.policy.inverse && failure(moment) === 'attempts-exhausted';
}

const operation = setup({
  // XState takes types by example; these values are never read.
  types: { context: {} as OperationContext, events: {} as OperationEvent, input: {} as OperationInput },
  actors: { attempt, lookup },
  delays: {
    attemptPause: ({ context: { history, policy, facts } }) => attemptPauseMs(history, policy, facts),
  },
  guards: {
    provenSuccess: isProvenUsable,
    provenTwoEffects: (moment) => proof(known(moment), moment.context.policy).type === 'two-effects',
    provenFailure: (moment) => failure(moment) !== null,
    provenUnusable: isProvenUnusable,
    provenUnusableAndLookup: (moment) => isProvenUnusable(moment) && moment.context.policy.lookup !== null,
    inverseExhausted: isExhaustedInverse,
    couldNotSend: (moment) => known(moment).refusedSends >= REFUSED_SENDS_MAX,
    startMayBeLost: mayHaveLostStart,
    startMayBeLostAndLookup: (moment) => mayHaveLostStart(moment) && moment.context.policy.lookup !== null,
    // Nobody can be asked, and there is no key under which another send would be safe, or no reason for one.
    startMayBeLostUnprovably: (moment) => {
      const { policy, history } = moment.context;
      const isUnprovable = policy.lookup === null && (policy.keyRetentionMs === null || history.cancelled);
      return isUnprovable && mayHaveLostStart(moment);
    },
    mayTryAgain: (moment) => mayTryAgain(known(moment), moment.context.policy, moment.context.facts),
    mayStartAfresh: (moment) => mayStartAfresh(known(moment), moment.context.policy, moment.context.facts),
    mayResubmitUnasked: ({ context }) => mayResubmitUnasked(context.history, context.policy, context.facts),
    mayNotStart: ({ context }) => !mayStart(context.history, context.policy, context.facts),
    mayNotStartAndLookup: ({ context }) =>
      !mayStart(context.history, context.policy, context.facts) && context.policy.lookup !== null,
    cannotLookUp: ({ context }) => context.policy.lookup === null,
    canLookUp: ({ context }) => context.policy.lookup !== null,
    lookupGivesUp: (moment) =>
      lookupGivesUp(known(moment), moment.context.policy, moment.context.facts, answerIn(moment.event)) !== null,
    evidenceProvesTwoEffects: (moment) =>
      moment.context.escalatedFrom === 'operation' &&
      proof(known(moment), moment.context.policy).type === 'two-effects',
    evidenceProvesSuccess: (moment) => isOpenToEvidence(moment.context) && isProvenUsable(moment),
    evidenceProvesFailure: (moment) =>
      isOpenToEvidence(moment.context) && !isExhaustedInverse(moment) && failure(moment) !== null,
    decidedSucceeded: (moment) => moment.context.escalatedFrom === 'operation' && decides(moment, 'succeeded'),
    decidedFailed: (moment) => {
      const { escalatedFrom, reason, history, policy } = moment.context;
      // Of two effects a person may have taken back both; one that is proven has not failed.
      const isFree = reason === 'two-effects' || !hasEffect(history, policy);
      return escalatedFrom === 'operation' && decides(moment, 'failed') && isFree;
    },
    decidedNotApplied: (moment) => {
      const { escalatedFrom, history, policy } = moment.context;
      return escalatedFrom === 'operation' && decides(moment, 'not-applied') && !hasEffect(history, policy);
    },
    decidedNotAppliedAfterCancel: (moment) => {
      const { escalatedFrom, history } = moment.context;
      const isHeard = escalatedFrom === 'operation' && history.cancelled && decides(moment, 'not-applied');
      return isHeard && failure(moment) !== null;
    },
    mayLookUpAgain: ({ context }) => context.escalatedFrom === 'operation' && context.policy.lookup !== null,
    noJoinedSagaUnsettled: ({ event }) => event.type === 'compensation.begun' && event.unsettledJoiners === 0,
    mayBeginInverseAgain: ({ context, event }) =>
      context.reason === 'definition-fault' && event.type === 'compensation.begun' && event.unsettledJoiners === 0,
    concernsTheInverse: ({ context }) => context.escalatedFrom === 'compensation',
    concernsItself: ({ context }) => context.escalatedFrom === 'operation',
  },
  actions: {
    startAttempt: assign(({ context }) => ({ history: attemptStarted(context.history) })),
    learn: assign((moment) => ({ history: known(moment) })),
    // After `learn`: what the event says is in the history by then, and is not said again.
    assumeLostStart: assign(({ context: { history, policy, facts } }) =>
      facts.lostStartOn !== null && startMayBeLost(history, facts) && !hasEffect(history, policy)
        ? { history: lostStartAssumed(history, facts.lostStartOn) }
        : {},
    ),
    forgetAbsence: assign(({ context }) => ({ history: absenceExpired(context.history) })),
    fail: assign((moment) => ({ history: known(moment), code: failure(moment) })),
    failAsDecided: assign(({ event }) =>
      event.type === 'verdict.given' && event.outcome.type === 'failed' ? { code: event.outcome.code } : {},
    ),
    escalate: assign((_, params: { reason: EscalationReason }) => ({
      reason: params.reason,
      escalatedFrom: 'operation' as const,
    })),
    escalateLookup: assign((moment) => {
      const { policy, facts } = moment.context;
      return {
        reason: lookupGivesUp(known(moment), policy, facts, answerIn(moment.event)),
        escalatedFrom: 'operation' as const,
      };
    }),
    escalateWithoutLookup: assign(({ context }) => ({
      reason: reasonWithoutLookup(context.history, context.policy, context.facts),
      escalatedFrom: 'operation' as const,
    })),
    escalateInverse: assign(({ event }) => ({
      reason: 'inverse-failed' as const,
      escalatedFrom: 'compensation' as const,
      inverseCode: event.type === 'compensation.refused' ? event.code : null,
    })),
    escalateFault: assign({ reason: 'definition-fault' as const, escalatedFrom: 'compensation' as const }),
    deescalate: assign({ reason: null }),
    join: assign(({ context, event }) =>
      event.type === 'join.requested' && !context.joined.includes(event.saga)
        ? { joined: [...context.joined, event.saga] }
        : {},
    ),
    askAtOnce: assign(({ context }) => ({ history: { ...context.history, lookups: 0 } })),
  },
});

type Escalation = { type: 'escalate'; params: { reason: EscalationReason } };

function escalate(reason: EscalationReason): Escalation {
  return { type: 'escalate', params: { reason } };
}

/** What all attempts together prove settles it, whatever it was that was learnt. */
const settledByProof = [
  { guard: 'provenTwoEffects', target: 'escalated', actions: ['learn', escalate('two-effects')] },
  { guard: 'provenSuccess', target: 'succeeded', actions: 'learn' },
  { guard: 'inverseExhausted', target: 'escalated', actions: ['learn', escalate('inverse-failed')] },
  { guard: 'provenFailure', target: 'failed', actions: 'fail' },
] as const;

/** What follows from the end of an attempt. One that threw proves nothing, but evidence may have arrived before. */
const attemptEnded = [
  ...settledByProof,
  { guard: 'couldNotSend', target: 'escalated', actions: ['learn', escalate('could-not-send')] },
  { guard: 'mayTryAgain', target: 'pending', actions: 'learn' },
  { target: 'unknown', actions: ['learn', 'assumeLostStart'] },
] as const;

const mayStartAgain = { guard: 'mayStartAfresh', target: 'pending', actions: 'learn' } as const;

const evidenceInDoubt = [...settledByProof, mayStartAgain, { actions: 'learn' }] as const;

/** What follows from an answer, in the order of the questions. What a fail-over may have lost is asked about as well. */
const lookupAnswers = [
  ...settledByProof,
  { guard: 'startMayBeLost', target: 'reconciling', reenter: true, actions: ['learn', 'assumeLostStart'] },
  mayStartAgain,
  { guard: 'lookupGivesUp', target: 'escalated', actions: ['learn', 'escalateLookup'] },
  { target: 'reconciling', reenter: true, actions: 'learn' },
] as const;

export const operationMachine = operation.createMachine({
  id: 'operation',
  context: ({ input }) => ({
    policy: input.policy,
    history: noHistory,
    facts: input.facts ?? noFacts,
    code: null,
    reason: null,
    escalatedFrom: 'operation',
    inverseCode: null,
    joined: [],
    verified: null,
    retryOf: input.retryOf ?? null,
  }),
  initial: 'pending',
  states: {
    pending: {
      entry: raise({ type: 'due' }, { id: 'due', delay: 'attemptPause' }),
      exit: cancel('due'),
      on: {
        due: [
          { guard: 'startMayBeLostAndLookup', target: 'reconciling', actions: 'assumeLostStart' },
          {
            guard: 'startMayBeLostUnprovably',
            target: 'escalated',
            actions: ['assumeLostStart', escalate('timeline-changed')],
          },
          { guard: 'startMayBeLost', target: 'pending', reenter: true, actions: 'assumeLostStart' },
          { guard: 'mayNotStartAndLookup', target: 'reconciling', actions: 'forgetAbsence' },
          { guard: 'mayNotStart', target: 'escalated', actions: 'escalateWithoutLookup' },
          { target: 'in-progress' },
        ],
        'evidence.received': [
          { guard: 'provenTwoEffects', target: 'escalated', actions: ['learn', escalate('two-effects')] },
          { guard: 'provenSuccess', target: 'succeeded', actions: 'learn' },
          { guard: 'provenUnusableAndLookup', target: 'reconciling', actions: 'learn' },
          { guard: 'provenUnusable', target: 'escalated', actions: ['learn', escalate('output-unusable')] },
          { guard: 'inverseExhausted', target: 'escalated', actions: ['learn', escalate('inverse-failed')] },
          { guard: 'provenFailure', target: 'failed', actions: 'fail' },
          { actions: 'learn' },
        ],
        'join.requested': { actions: 'join' },
        'cancel.requested': [
          { guard: 'provenFailure', target: 'failed', actions: 'fail' },
          { guard: 'canLookUp', target: 'reconciling', actions: ['learn', 'assumeLostStart'] },
          {
            guard: 'startMayBeLost',
            target: 'escalated',
            actions: ['learn', 'assumeLostStart', escalate('timeline-changed')],
          },
          { target: 'escalated', actions: ['learn', escalate('no-lookup')] },
        ],
      },
    },

    'in-progress': {
      entry: 'startAttempt',
      invoke: {
        id: 'attempt',
        src: 'attempt',
        input: ({ context }) => ({ number: context.history.attempts.length }),
        onDone: attemptEnded,
        onError: attemptEnded,
      },
      on: {
        'evidence.received': [
          { guard: 'provenTwoEffects', target: 'escalated', actions: ['learn', escalate('two-effects')] },
          { guard: 'provenSuccess', target: 'succeeded', actions: 'learn' },
          { actions: 'learn' },
        ],
        'cancel.requested': { actions: 'learn' },
        'join.requested': { actions: 'join' },
      },
    },

    unknown: {
      tags: 'doubt',
      always: [
        { guard: 'mayResubmitUnasked', target: 'pending' },
        { guard: 'cannotLookUp', target: 'escalated', actions: 'escalateWithoutLookup' },
      ],
      invoke: {
        id: 'lookup',
        src: 'lookup',
        input: { delayMs: 0 },
        onDone: lookupAnswers,
        onError: lookupAnswers,
      },
      on: {
        'evidence.received': evidenceInDoubt,
        'cancel.requested': { actions: 'learn' },
        'join.requested': { actions: 'join' },
      },
    },

    reconciling: {
      tags: 'doubt',
      invoke: {
        id: 'lookup',
        src: 'lookup',
        input: ({ context: { history, policy, facts } }) => ({ delayMs: lookupPauseMs(history, policy, facts) }),
        onDone: lookupAnswers,
        onError: lookupAnswers,
      },
      on: {
        'evidence.received': evidenceInDoubt,
        'cancel.requested': { actions: 'learn' },
        'join.requested': { actions: 'join' },
      },
    },

    escalated: {
      tags: 'doubt',
      on: {
        'evidence.received': [
          { guard: 'evidenceProvesTwoEffects', actions: ['learn', escalate('two-effects')] },
          { guard: 'evidenceProvesSuccess', target: 'succeeded', actions: ['learn', 'deescalate'] },
          { guard: 'evidenceProvesFailure', target: 'failed', actions: ['fail', 'deescalate'] },
          { actions: 'learn' },
        ],
        'verdict.given': [
          { guard: 'decidedSucceeded', target: 'succeeded', actions: ['learn', 'deescalate'] },
          { guard: 'decidedFailed', target: 'failed', actions: ['failAsDecided', 'deescalate'] },
          { guard: 'decidedNotAppliedAfterCancel', target: 'failed', actions: ['fail', 'deescalate'] },
          { guard: 'decidedNotApplied', target: 'pending', actions: ['learn', 'deescalate'] },
        ],
        'lookup.requested': { guard: 'mayLookUpAgain', target: 'reconciling', actions: ['deescalate', 'askAtOnce'] },
        'cancel.requested': { actions: 'learn' },
        'join.requested': { guard: 'concernsItself', actions: 'join' },
        'compensation.begun': { guard: 'mayBeginInverseAgain', target: 'compensating', actions: 'deescalate' },
        'effect.takenBack': { guard: 'concernsTheInverse', target: 'compensated', actions: 'deescalate' },
        'effect.leftStanding': { guard: 'concernsTheInverse', target: 'succeeded', actions: 'deescalate' },
      },
    },

    succeeded: {
      tags: 'settled',
      on: {
        'compensation.begun': { guard: 'noJoinedSagaUnsettled', target: 'compensating' },
        'join.requested': { actions: 'join' },
      },
    },

    failed: { tags: 'settled', type: 'final' },

    compensating: {
      on: {
        'compensation.succeeded': 'compensated',
        'compensation.refused': { target: 'escalated', actions: 'escalateInverse' },
        'compensation.faulted': { target: 'escalated', actions: 'escalateFault' },
        'compensation.givenUp': 'succeeded',
      },
    },

    compensated: { tags: 'settled', type: 'final' },
  },
});
