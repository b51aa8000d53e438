/**
 * The chart of an operation, played as a designer would play it in the inspector, drawn as a table, and walked at
 * random. The authority is the chart; what could go wrong is an arrow that nobody promised, or a walk that ends
 * where nothing comes next, sends what is not proven, or goes on after an effect was proven.
 */

import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  createActor,
  fromPromise,
  initialTransition,
  SimulatedClock,
  type SnapshotFrom,
  type StateValueFrom,
  transition,
} from 'xstate';
import { type LookupAnswer, type OperationEvent, operationMachine } from '../../machines/operation.ts';
import type { AttemptResult, History } from '../../src/domain/attempt.ts';
import type { EscalationReason, OperationState } from '../../src/domain/operation-state.ts';
import { absent, failed, found, inconclusive, notApplied, succeeded, unknown } from '../../src/domain/outcome.ts';
import { type Facts, marginMs, type Policy, REFUSED_SENDS_MAX, startMayBeLost } from '../../src/domain/policy.ts';

const lookup = { visibleWithinMs: 2_000, arrivalLimitMs: null, everyMs: 1_000, giveUpAfterMs: 864_000_000 } as const;
const both: Policy = {
  contract: null,
  keyRetentionMs: 86_400_000,
  lookup,
  timeoutMs: 10_000,
  sendWithinMs: 5_000,
  retry: { attempts: 3, backoff: 'fixed', delayMs: 1_000, maxDelayMs: 1_000, jitter: 'none' },
  inverse: false,
};
const retentionOnly: Policy = { ...both, lookup: null };
const lookupOnly: Policy = { ...both, keyRetentionMs: null };
const neither: Policy = { ...both, keyRetentionMs: null, lookup: null };
/** What was sent has arrived by the end of its attempt, or never will. */
const limited: Policy = { ...both, lookup: { ...lookup, arrivalLimitMs: 0 } };
const windowOpen: Facts = { now: 90_000, sendBy: 5_000, windowEndsAt: 86_400_000, lostStartOn: null, random: 0.5 };
const windowOver: Facts = { now: 90_000_000, sendBy: 5_000, windowEndsAt: 86_400_000, lostStartOn: null, random: 0.5 };
const lookupsOver: Facts = {
  now: 900_000_000,
  sendBy: 5_000,
  windowEndsAt: 1_000_000_000,
  lostStartOn: null,
  random: 0.5,
};

const receipt = succeeded('receipt', { reference: 'ch_1' });
const lost = unknown('the reply was lost');
const refusedToSend = { type: 'not-applied', reason: 'too late to send', sent: false } as const;
const unreadable = { type: 'succeeded-unusably', reason: 'not the declared shape', reference: 'ch_1' } as const;
const unreadableRecord = { type: 'found-unusably', references: ['ch_1'], why: 'not the declared shape' } as const;

function onceMore(policy: Policy, attempts: number): Policy {
  return { ...policy, retry: { ...policy.retry, attempts } };
}

interface Script {
  readonly policy?: Policy;
  readonly facts?: Facts;
  /** How attempts 1, 2 ... end; 'throws' for an executor that does. Further ones stay in flight. */
  readonly attempts?: readonly (AttemptResult | 'throws')[];
  /** What look-ups 1, 2 ... say. Further ones stay in flight. */
  readonly lookups?: readonly (LookupAnswer['finding'] | 'throws')[];
}

/** An operation that runs live in a simulated clock against a script. */
function play({ policy = both, facts, attempts = [], lookups = [] }: Script) {
  const clock = new SimulatedClock();
  const path: string[] = [];
  let asked = 0;
  const scripted = operationMachine.provide({
    actors: {
      attempt: fromPromise<AttemptResult, { number: number }>(({ input }) => read(attempts[input.number - 1])),
      lookup: fromPromise<LookupAnswer, { delayMs: number }>(async () => {
        const finding = await read(lookups[asked++]);
        return { finding, beganAt: facts?.now ?? 0 };
      }),
    },
  });
  const actor = createActor(scripted, { clock, input: facts === undefined ? { policy } : { policy, facts } });
  actor.subscribe({ next: ({ value }) => void (path.at(-1) === value || path.push(value)) });
  actor.start();

  return {
    path,
    /** What people read: the state, and with it the code or the reason. */
    get told() {
      const { value, context } = actor.getSnapshot();
      const detail = value === 'failed' ? context.code : context.reason;
      return detail === null ? value : `${value}: ${detail}`;
    },
    get history(): History {
      return actor.getSnapshot().context.history;
    },
    accepts(event: OperationEvent): boolean {
      return actor.getSnapshot().can(event);
    },
    get inverseCode() {
      return actor.getSnapshot().context.inverseCode;
    },
    /** All pauses and answers up to the point where only the outside world can move it. */
    async rest() {
      for (let before = ''; before !== path.join() + asked; ) {
        before = path.join() + asked;
        clock.increment(1_000);
        await microtasks();
      }
      return this;
    },
    async tell(...events: OperationEvent[]) {
      for (const event of events) actor.send(event);
      await microtasks();
      return this;
    },
  };
}

function read<T>(line: T | 'throws' | undefined): Promise<T> {
  if (line === undefined) return new Promise(() => {});
  return line === 'throws' ? Promise.reject(new Error('socket hang up')) : Promise.resolve(line);
}

function microtasks(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function evidence(attempt: number, outcome: AttemptResult, timeline?: string): OperationEvent {
  return { type: 'evidence.received', attempt, outcome, ...(timeline === undefined ? {} : { timeline }) };
}

const cancel: OperationEvent = { type: 'cancel.requested' };
const due: OperationEvent = { type: 'due' };
const compensate: OperationEvent = { type: 'compensation.begun', unsettledJoiners: 0 };

function verdict(outcome: Extract<OperationEvent, { type: 'verdict.given' }>['outcome']): OperationEvent {
  return { type: 'verdict.given', outcome };
}

const happened = verdict(receipt);
const wasRefused = verdict(failed('declined'));
const didNotHappen = verdict({ type: 'not-applied' });

type Snapshot = SnapshotFrom<typeof operationMachine>;
type ActorEvent =
  | { readonly type: 'xstate.done.actor.attempt'; readonly output: AttemptResult }
  | { readonly type: 'xstate.error.actor.attempt'; readonly error: unknown }
  | { readonly type: 'xstate.done.actor.lookup'; readonly output: LookupAnswer }
  | { readonly type: 'xstate.error.actor.lookup'; readonly error: unknown };

function attemptDone(output: AttemptResult): OperationEvent {
  return fromActor({ type: 'xstate.done.actor.attempt', output });
}

function lookupDone(finding: LookupAnswer['finding'], beganAt: number): OperationEvent {
  return fromActor({ type: 'xstate.done.actor.lookup', output: { finding, beganAt } });
}

const attemptThrew = fromActor({ type: 'xstate.error.actor.attempt', error: new Error('socket hang up') });
const lookupThrew = fromActor({ type: 'xstate.error.actor.lookup', error: new Error('socket hang up') });

/** What an invoked actor tells the chart. */
function fromActor(event: ActorEvent): OperationEvent {
  // XState delivers these events itself and leaves them out of the type of what may be sent.
  return event as unknown as OperationEvent;
}

function withFacts(snapshot: Snapshot, facts: Facts): Snapshot {
  // A snapshot is a union over its status, which spreading forgets although it does not change it.
  return { ...snapshot, context: { ...snapshot.context, facts } } as Snapshot;
}

/** The snapshot that a script leads to, computed without anything running. */
function stateAt(state: OperationState, { policy = both, attempts = [], lookups = [] }: Script): Snapshot {
  const ends = attempts.map((end) => (end === 'throws' ? attemptThrew : attemptDone(end)));
  const answers = lookups.map((answer) => (answer === 'throws' ? lookupThrew : lookupDone(answer, 0)));
  let [snapshot] = initialTransition(operationMachine, { policy });
  for (;;) {
    const birth = snapshot.value === 'pending' && ends.length > 0 ? due : undefined;
    const next = snapshot.value === 'in-progress' ? ends.shift() : (birth ?? answers.shift());
    if (next === undefined) break;
    [snapshot] = transition(operationMachine, snapshot, next);
  }
  expect(snapshot.value).toBe(state);
  return snapshot;
}

/** The states, with their reasons or codes, that these events lead to one after the other. */
function after(snapshot: Snapshot, ...events: readonly (readonly [OperationEvent, Facts])[]): string[] {
  let current = snapshot;
  return events.map(([event, facts]) => {
    [current] = transition(operationMachine, withFacts(current, facts), event);
    return [current.value, current.context.reason, current.context.code].filter(Boolean).join(': ');
  });
}

describe('an operation whose provider answers', () => {
  test('succeeds with the output it was given', async () => {
    const operation = play({ attempts: [receipt] });

    await operation.rest();

    expect(operation.path).toEqual(['pending', 'in-progress', 'succeeded']);
    expect(operation.history.result).toEqual({ output: 'receipt', reference: 'ch_1' });
  });

  test('fails with the code of the refusal', async () => {
    const operation = play({ attempts: [failed('declined')] });

    await operation.rest();

    expect(operation.path).toEqual(['pending', 'in-progress', 'failed']);
    expect(operation.told).toBe('failed: declined');
  });

  test('waits for its pause before it tries again', async () => {
    const operation = play({ attempts: [notApplied('429'), receipt] });
    await operation.tell(due);

    const waiting = operation.told;
    await operation.rest();

    expect(waiting).toBe('pending');
    expect(operation.path).toEqual(['pending', 'in-progress', 'pending', 'in-progress', 'succeeded']);
  });

  test('fails once its attempts are exhausted', async () => {
    const operation = play({ attempts: [notApplied('429'), notApplied('429'), notApplied('429'), receipt] });

    await operation.rest();

    expect(operation.told).toBe('failed: attempts-exhausted');
    expect(operation.history.attempts).toHaveLength(3);
  });

  test('is handed to a person after ten sends that were refused in a row', async () => {
    const operation = play({ attempts: Array.from({ length: REFUSED_SENDS_MAX + 1 }, () => refusedToSend) });

    await operation.rest();

    expect(operation.told).toBe('escalated: could-not-send');
    expect(operation.history.attempts).toHaveLength(REFUSED_SENDS_MAX);
  });
});

describe('an operation whose reply was lost, at a provider that can be asked', () => {
  test.each(['throws' as const, lost])('succeeds by the record that the look-up finds (%o)', async (silence) => {
    const operation = play({ attempts: [silence], lookups: [found(receipt)] });

    await operation.rest();

    expect(operation.path).toEqual(['pending', 'in-progress', 'unknown', 'succeeded']);
  });

  test('fails by the own state of the record that the look-up finds', async () => {
    const operation = play({ attempts: [lost], lookups: [found(failed('declined'))] });

    await operation.rest();

    expect(operation.told).toBe('failed: declined');
  });

  test('is sent again after it was found absent', async () => {
    const operation = play({ attempts: [lost, receipt], lookups: [absent()] });

    await operation.rest();

    expect(operation.path).toEqual(['pending', 'in-progress', 'unknown', 'pending', 'in-progress', 'succeeded']);
  });

  test('is asked again while nobody can tell', async () => {
    const operation = play({ attempts: [lost], lookups: [inconclusive(), 'throws', inconclusive(), found(receipt)] });

    await operation.rest();

    expect(operation.path).toEqual(['pending', 'in-progress', 'unknown', 'reconciling', 'succeeded']);
    expect(operation.history.lookups).toBe(4);
  });

  test('fails when it was found absent for good and no attempt is left', async () => {
    const operation = play({ policy: onceMore(limited, 1), attempts: [lost], lookups: [absent()] });

    await operation.rest();

    expect(operation.told).toBe('failed: attempts-exhausted');
  });

  test.each<[string, Script['lookups'], Facts, Policy, EscalationReason]>([
    ['the absence is not final', [absent()], windowOver, lookupOnly, 'absent-not-final'],
    ['it may still arrive and no attempt is left', [absent()], windowOpen, onceMore(both, 1), 'absent-not-final'],
    ['the window is over', [absent()], windowOver, both, 'window-passed'],
    ['the look-ups went on for too long', [inconclusive()], lookupsOver, both, 'lookup-exhausted'],
    ['the look-up only ever threw', ['throws'], lookupsOver, both, 'lookup-exhausted'],
    ['two records are found', [found(receipt, succeeded('x', { reference: 'ch_2' }))], windowOver, both, 'two-effects'],
    ['the record cannot be read', [unreadableRecord], windowOver, both, 'output-unusable'],
  ])('is handed to a person when %s', async (_, lookups = [], facts, policy, reason) => {
    const operation = play({ policy, facts, attempts: [lost], lookups });

    await operation.rest();

    expect(operation.told).toBe(`escalated: ${reason}`);
  });

  test('is handed to a person when a later look-up throws beyond the limit', () => {
    const asking = stateAt('reconciling', { attempts: [lost], lookups: [inconclusive()] });

    const [last] = transition(operationMachine, withFacts(asking, lookupsOver), lookupThrew);

    expect([last.value, last.context.reason]).toEqual(['escalated', 'lookup-exhausted']);
  });

  test('is handed to a person, not sent for ever, when the window ends between absence and resubmission', async () => {
    const waiting = stateAt('pending', { attempts: [lost], lookups: [absent()] });

    const [asked] = transition(operationMachine, withFacts(waiting, windowOver), due);
    const [unclear] = transition(operationMachine, asked, lookupDone(inconclusive(), windowOver.now));
    const [last] = transition(operationMachine, unclear, lookupDone(absent(), windowOver.now));

    expect([waiting.value, asked.value]).toEqual(['pending', 'reconciling']);
    expect([last.value, last.context.reason]).toEqual(['escalated', 'window-passed']);
  });
});

describe('an operation after which another send would teach nothing, or do it again', () => {
  const askFirst = { ...lost, sendAgain: 'ask-first' } as const;

  test('is looked up first, and sent again once it was found absent', async () => {
    const operation = play({ attempts: [askFirst, receipt], lookups: [absent()] });

    await operation.rest();

    expect(operation.path).toEqual(['pending', 'in-progress', 'unknown', 'pending', 'in-progress', 'succeeded']);
  });

  test('is handed to a person where nobody can be asked, also when an earlier one might be sent again', async () => {
    const first = play({ policy: retentionOnly, attempts: [askFirst, receipt] });
    const second = play({ policy: retentionOnly, attempts: [lost, askFirst, receipt] });

    await first.rest();
    await second.rest();

    expect([first.told, second.told]).toEqual(['escalated: no-lookup', 'escalated: no-lookup']);
    expect([first, second].map(({ history }) => history.attempts.length)).toEqual([1, 2]);
  });
});

describe('an operation whose next pause ends after its window', () => {
  const late = { ...notApplied('429'), retryAfterMs: 3_600_000 };
  const closing: Facts = { ...windowOpen, now: 86_000_000 };

  test.each<[string, Snapshot, string]>([
    ['is asked about at once', stateAt('pending', { attempts: [lost], lookups: [absent()] }), 'unknown'],
    [
      'is handed to a person at once where nobody can be asked',
      stateAt('pending', { policy: retentionOnly, attempts: [lost] }),
      'escalated: window-passed',
    ],
  ])('%s', (_, waiting, told) => {
    const states = after(waiting, [due, windowOpen], [attemptDone(late), closing]);

    expect(states).toEqual(['in-progress', told]);
  });

  test('is handed to a person when it is absent, and looked up on where that can become final', () => {
    const withLimit: Policy = { ...both, lookup: { ...lookup, arrivalLimitMs: 3_600_000 } };
    const policies = [both, withLimit].map((policy) => onceMore(policy, 9));

    const told = policies.map((policy) =>
      after(stateAt('unknown', { policy, attempts: [{ ...lost, retryAfterMs: 3_600_000 }] }), [
        lookupDone(absent(), 40_000),
        { ...closing, sendBy: 19_000 },
      ]).at(-1),
    );

    expect(told).toEqual(['escalated: window-passed', 'reconciling']);
  });

  test('waits for it when nothing is in doubt', () => {
    const waiting = stateAt('pending', { policy: retentionOnly });

    const states = after(waiting, [due, windowOpen], [attemptDone(late), closing]);

    expect(states).toEqual(['in-progress', 'pending']);
  });
});

describe('an operation whose reply was lost, at a provider that cannot be asked', () => {
  test('is sent again at once where the key is retained', async () => {
    const operation = play({ policy: retentionOnly, attempts: [lost, receipt], lookups: [found(receipt)] });

    await operation.rest();

    expect(operation.path).toEqual(['pending', 'in-progress', 'pending', 'in-progress', 'succeeded']);
    expect(operation.history.attempts.map(({ standing }) => standing)).toEqual(['unproven', 'effect']);
  });

  test('is handed to a person when the second send was refused and none is left', async () => {
    const operation = play({ policy: onceMore(retentionOnly, 2), attempts: [lost, failed('declined')] });

    await operation.rest();

    expect(operation.told).toBe('escalated: no-lookup');
  });

  test('is handed to a person when the window is over', async () => {
    const operation = play({ policy: retentionOnly, facts: windowOver, attempts: [lost, receipt] });

    await operation.rest();

    expect(operation.told).toBe('escalated: window-passed');
  });

  test('is handed to a person when the window ends before the second send is due', async () => {
    const waiting = stateAt('pending', { policy: retentionOnly, attempts: [lost] });

    const [last] = transition(operationMachine, withFacts(waiting, windowOver), due);

    expect([last.value, last.context.reason]).toEqual(['escalated', 'window-passed']);
  });

  test.each<[string, OperationEvent, string[], string]>([
    ['that it happened', happened, ['succeeded'], 'succeeded'],
    ['that it was refused', wasRefused, ['failed'], 'failed: declined'],
    ['that it did not happen', didNotHappen, ['pending', 'in-progress'], 'in-progress'],
  ])('and that retains no key, waits for a person, who states %s', async (_, event, next, told) => {
    const operation = play({ policy: onceMore(neither, 1), attempts: [lost] });
    await operation.rest();
    const asked = operation.told;

    await operation.tell(event);
    await operation.rest();

    expect(asked).toBe('escalated: no-lookup');
    expect(operation.path.slice(3)).toEqual(next);
    expect(operation.told).toBe(told);
  });

  test('is not looked up, whoever asks for it', async () => {
    const operation = play({ policy: neither, attempts: [lost] });
    await operation.rest();

    await operation.tell({ type: 'lookup.requested' });

    expect(operation.told).toBe('escalated: no-lookup');
  });
});

describe('an operation that waits for a person', () => {
  test('is looked up again when the person asks for it', async () => {
    const operation = play({ policy: lookupOnly, attempts: [lost], lookups: [absent(), found(receipt)] });
    await operation.rest();
    const asked = operation.told;

    await operation.tell({ type: 'lookup.requested' });

    expect(asked).toBe('escalated: absent-not-final');
    expect(operation.told).toBe('succeeded');
  });

  test('is not sent again after two effects, whatever the person says of it', async () => {
    const operation = play({ attempts: [lost], lookups: [found(receipt, succeeded('x', { reference: 'ch_2' }))] });
    await operation.rest();

    await operation.tell(didNotHappen);

    expect(operation.told).toBe('escalated: two-effects');
  });

  test.each<[string, Script, string]>([
    ['cancelled', { policy: neither, attempts: [lost] }, 'failed: cancelled'],
    ['declined', { policy: onceMore(retentionOnly, 2), attempts: [lost, failed('declined')] }, 'failed: declined'],
  ])('is not sent again when it was cancelled in the meantime, but fails as %s', async (_, script, told) => {
    const operation = play(script);
    await operation.rest();
    const sent = operation.history.attempts.length;

    await operation.tell(cancel, didNotHappen);
    await operation.rest();

    expect(operation.told).toBe(told);
    expect(operation.history.attempts).toHaveLength(sent);
  });
});

describe('a person who says that it failed', () => {
  const second = succeeded('another receipt', { reference: 'ch_2' });

  test.each<[string, Script]>([
    ['by its own reply', { policy: neither, attempts: [unreadable] }],
    ['by a look-up', { attempts: [lost], lookups: [unreadableRecord] }],
  ])('is refused while an effect is proven %s', async (_, script) => {
    const operation = play(script);
    await operation.rest();

    const accepts = operation.accepts(wasRefused);
    await operation.tell(wasRefused);

    expect(accepts).toBe(false);
    expect(operation.told).toBe('escalated: output-unusable');
  });

  test('is heard about two effects, for they may both have been taken back', async () => {
    const operation = play({ attempts: [lost], lookups: [found(receipt, second)] });
    await operation.rest();

    await operation.tell(wasRefused);

    expect(operation.told).toBe('failed: declined');
  });

  test('is heard while nothing is proven', async () => {
    const operation = play({ policy: neither, attempts: [lost] });
    await operation.rest();

    await operation.tell(wasRefused);

    expect(operation.told).toBe('failed: declined');
  });
});

describe('an operation that is cancelled', () => {
  test('before its first attempt, fails as cancelled', async () => {
    const operation = play({ attempts: [receipt] });

    await operation.tell(cancel);
    await operation.rest();

    expect(operation.told).toBe('failed: cancelled');
    expect(operation.history.attempts).toEqual([]);
  });

  test('between attempts that are proven to be without effect, fails as cancelled', async () => {
    const operation = play({ attempts: [notApplied('429'), receipt] });
    await operation.tell(due);

    await operation.tell(cancel);

    expect(operation.told).toBe('failed: cancelled');
  });

  test('while an attempt runs, fails only by what the attempt proves', async () => {
    const operation = play({ attempts: [notApplied('429'), receipt] });

    await operation.tell(due, cancel);
    await operation.rest();

    expect(operation.path).toEqual(['pending', 'in-progress', 'failed']);
    expect(operation.told).toBe('failed: cancelled');
  });

  test('while an attempt runs that succeeds, has succeeded', async () => {
    const operation = play({ attempts: [receipt] });

    await operation.tell(due, cancel);

    expect(operation.told).toBe('succeeded');
  });

  test('while its reply is unknown, is not sent again', async () => {
    const operation = play({ policy: limited, attempts: [lost, receipt], lookups: [inconclusive(), absent()] });
    await operation.tell(due, cancel);

    await operation.rest();

    expect(operation.told).toBe('failed: cancelled');
    expect(operation.history.attempts).toHaveLength(1);
  });

  test('while its reply is unknown, is handed to a person when it may still arrive', async () => {
    const operation = play({ attempts: [lost, receipt], lookups: [inconclusive(), absent()] });
    await operation.tell(due, cancel);

    await operation.rest();

    expect(operation.told).toBe('escalated: absent-not-final');
    expect(operation.history.attempts).toHaveLength(1);
  });

  test('while its look-up is under way, waits for the answer', async () => {
    const operation = play({ attempts: [lost] });
    await operation.rest();

    await operation.tell(cancel);

    expect(operation.told).toBe('unknown');
    expect(operation.history.cancelled).toBe(true);
  });

  test('while an unproven attempt waits to be repeated, is handed to a person', () => {
    const waiting = stateAt('pending', { policy: retentionOnly, attempts: [lost] });

    const [last] = transition(operationMachine, waiting, cancel);

    expect([last.value, last.context.reason]).toEqual(['escalated', 'no-lookup']);
  });

  test.each<[string, Policy, string[]]>([
    ['for good, fails as cancelled', limited, ['failed', 'cancelled']],
    ['and may still arrive, is looked up again', both, ['reconciling']],
  ])('after it was found absent %s', (_, policy, told) => {
    const waiting = stateAt('pending', { policy, attempts: [lost], lookups: [absent()] });

    const [last] = transition(operationMachine, waiting, cancel);

    expect([last.value, last.context.code].filter(Boolean)).toEqual(told);
  });
});

describe('an operation of which a fail-over may have lost a start', () => {
  const lostStart: Facts = { now: 0, sendBy: null, windowEndsAt: null, lostStartOn: 'timeline-2', random: 0.5 };
  const nothingLost: Facts = { ...lostStart, lostStartOn: null };
  const assumption = { number: 1, standing: 'unproven', assumedOn: 'timeline-2' };
  /** As the store has it after the assumption: what was sent may have left until now. */
  const visible: Facts = { ...lostStart, now: 100_000, sendBy: 5_000, windowEndsAt: 86_000_000 };

  /** What it comes to, event by event, and why. */
  test('is looked up before anything is sent, and adopted when it is found', () => {
    const waiting = stateAt('pending', {});

    const states = after(waiting, [due, lostStart], [lookupDone(found(receipt), 0), lostStart]);

    expect(states).toEqual(['reconciling', 'succeeded']);
  });

  test('is sent once its absence counts', () => {
    const waiting = stateAt('pending', {});

    const early = after(waiting, [due, lostStart], [lookupDone(absent(), 0), { ...visible, now: 1_000 }]);
    const states = after(waiting, [due, lostStart], [lookupDone(absent(), 99_000), visible], [due, visible]);

    expect(early).toEqual(['reconciling', 'reconciling']);
    expect(states).toEqual(['reconciling', 'pending', 'in-progress']);
  });

  test('waits and is sent under its key where nobody can be asked', () => {
    const waiting = stateAt('pending', { policy: retentionOnly });

    const [again, actions] = transition(operationMachine, withFacts(waiting, lostStart), due);
    const [sent] = transition(operationMachine, withFacts(again, visible), due);

    expect([again.value, again.context.history.attempts, armedBy(actions)]).toEqual(['pending', [assumption], [1_000]]);
    expect([sent.value, sent.context.history.attempts.length]).toEqual(['in-progress', 2]);
  });

  test('is handed to a person when the key may be forgotten before it is sent', () => {
    const waiting = stateAt('pending', { policy: retentionOnly });

    const states = after(waiting, [due, lostStart], [due, { ...visible, now: 86_000_000 }]);

    expect(states).toEqual(['pending', 'escalated: window-passed']);
  });

  test('is handed to a person where neither can be, and sent when the person says that nothing happened', () => {
    const waiting = stateAt('pending', { policy: neither });

    const states = after(waiting, [due, lostStart], [didNotHappen, lostStart], [due, lostStart]);

    expect(states).toEqual(['escalated: timeline-changed', 'pending', 'in-progress']);
  });

  test('uses up no attempt for what may never have been', () => {
    const waiting = stateAt('pending', { policy: onceMore(retentionOnly, 1) });

    const states = after(waiting, [due, lostStart], [due, visible]);

    expect(states).toEqual(['pending', 'in-progress']);
  });

  test('is asked about once, and once more after another fail-over', () => {
    const waiting = stateAt('pending', { policy: retentionOnly });
    const [known] = transition(operationMachine, withFacts(waiting, lostStart), due);

    const same = after(known, [due, visible]);
    const later = after(known, [due, { ...visible, lostStartOn: 'timeline-3' }]);

    expect([same, later]).toEqual([['in-progress'], ['pending']]);
  });

  test.each<[string, Policy, string]>([
    ['is looked up', both, 'reconciling'],
    ['is handed to a person where only the key is known', retentionOnly, 'escalated: timeline-changed'],
    ['is handed to a person where nothing is', neither, 'escalated: timeline-changed'],
  ])('and that is cancelled while it waits %s', (_, policy, told) => {
    const waiting = stateAt('pending', { policy });

    const states = after(waiting, [cancel, lostStart]);

    expect(states).toEqual([told]);
  });

  test('and that is cancelled fails once its absence is final', () => {
    const policies = [limited, both];

    const states = policies.map((policy) =>
      after(stateAt('pending', { policy }), [cancel, lostStart], [lookupDone(absent(), 99_000), visible]),
    );

    expect(states).toEqual([
      ['reconciling', 'failed: cancelled'],
      ['reconciling', 'escalated: absent-not-final'],
    ]);
  });

  test.each<[string, AttemptResult]>([
    ['refused', failed('declined')],
    ['not applied for the last time', notApplied('429')],
  ])('does not fail because the attempt that is known was %s', (_, outcome) => {
    const policies = [both, retentionOnly, neither].map((policy) => onceMore(policy, 1));

    const states = policies.map((policy) =>
      after(stateAt('pending', { policy }), [due, nothingLost], [attemptDone(outcome), lostStart]).at(-1),
    );

    expect(states).toEqual(['unknown', 'escalated: timeline-changed', 'escalated: timeline-changed']);
  });

  test('fails as refused when nothing else is found, and can arrive no more', () => {
    const waiting = stateAt('pending', { policy: limited });

    const states = after(
      waiting,
      [due, nothingLost],
      [attemptDone(failed('declined')), lostStart],
      [lookupDone(absent(), 99_000), visible],
    );

    expect(states).toEqual(['in-progress', 'unknown', 'failed: declined']);
  });

  test('is asked about for the lost one as well when it was in doubt already', () => {
    const policy = onceMore(limited, 1);
    const asking = stateAt('reconciling', { policy, attempts: [lost], lookups: [inconclusive()] });
    const beforeItCounts = { ...visible, sendBy: 105_000 };

    const states = after(
      asking,
      [lookupDone(absent(), 99_000), visible],
      [lookupDone(absent(), 99_000), beforeItCounts],
      [lookupDone(absent(), 199_000), { ...beforeItCounts, now: 200_000 }],
    );

    expect(states).toEqual(['reconciling', 'reconciling', 'failed: attempts-exhausted']);
  });

  test.each<[string, Policy, string[]]>([
    ['is looked up', both, ['pending', 'reconciling']],
    ['waits for the person again', retentionOnly, ['pending', 'escalated: timeline-changed']],
  ])('and of which a person says, after it was cancelled, that the known one did not happen, %s', (_, policy, told) => {
    const exhausted = { policy: onceMore(policy, 1), attempts: [lost], lookups: [absent()] };
    const asked =
      policy.lookup === null
        ? stateAt('escalated', exhausted)
        : stateAt('escalated', { policy: lookupOnly, attempts: [lost], lookups: [absent()] });
    const [cancelled] = transition(operationMachine, asked, cancel);

    const states = after(cancelled, [didNotHappen, lostStart], [due, lostStart]);

    expect(states).toEqual(told);
  });

  test('succeeds by the late word of an attempt that is lost', () => {
    const waiting = stateAt('pending', { policy: neither });
    const [asked] = transition(operationMachine, withFacts(waiting, lostStart), due);

    const states = [waiting, asked].flatMap((snapshot) =>
      after(snapshot, [evidence(1, receipt, 'timeline-1'), lostStart]),
    );

    expect(states).toEqual(['succeeded', 'succeeded']);
  });

  test('does not take the refusal of an attempt that is lost for one of its own', () => {
    const waiting = stateAt('pending', { policy: neither });
    const [asked] = transition(operationMachine, withFacts(waiting, lostStart), due);
    const [granted] = transition(operationMachine, withFacts(asked, lostStart), didNotHappen);
    const [sent] = transition(operationMachine, withFacts(granted, lostStart), due);

    const states = after(sent, [evidence(2, failed('declined'), 'timeline-1'), lostStart], [attemptThrew, lostStart]);

    expect(states).toEqual(['in-progress', 'escalated: no-lookup']);
  });
});

describe('evidence from outside', () => {
  test('in pending settles by what it proves', async () => {
    const operation = play({ policy: retentionOnly, attempts: [lost] });
    await operation.tell(due);

    await operation.tell(evidence(1, receipt));

    expect(operation.path).toEqual(['pending', 'in-progress', 'pending', 'succeeded']);
  });

  test('in pending settles by a refusal when nothing else is open', async () => {
    const operation = play({ policy: retentionOnly, attempts: [lost] });
    await operation.tell(due);

    await operation.tell(evidence(1, failed('declined')));

    expect(operation.told).toBe('failed: declined');
  });

  test.each<[string, Policy, string]>([
    ['is handed to a person where nobody can be asked', retentionOnly, 'escalated: output-unusable'],
    ['is looked up where that is possible', both, 'reconciling'],
  ])('in pending of an effect nobody can read forbids another send: it %s', (_, policy, told) => {
    const waiting = stateAt('pending', { policy, attempts: [notApplied('429')] });

    const [snapshot] = transition(operationMachine, waiting, evidence(1, unreadable));

    expect([snapshot.value, snapshot.context.reason].filter(Boolean).join(': ')).toBe(told);
  });

  test('in in-progress settles by a success, before the reply', async () => {
    const operation = play({});

    await operation.tell(due, evidence(1, receipt));

    expect(operation.path).toEqual(['pending', 'in-progress', 'succeeded']);
  });

  test.each<[AttemptResult | 'throws']>([['throws'], [lost]])(
    'in in-progress of a refusal settles when the attempt ends without knowing better (%o)',
    async (silence) => {
      const operation = play({ policy: retentionOnly, attempts: [silence, receipt] });

      await operation.tell(due, evidence(1, failed('declined')));
      await operation.rest();

      expect(operation.told).toBe('failed: declined');
      expect(operation.history.attempts).toHaveLength(1);
    },
  );

  test.each<[string, AttemptResult, string]>([
    ['a success', receipt, 'succeeded'],
    ['a refusal', failed('declined'), 'failed: declined'],
    ['not having been applied', notApplied('429'), 'pending'],
    ['nothing', lost, 'unknown'],
    ['an effect nobody can read', unreadable, 'unknown'],
  ])('in unknown of %s', async (_, outcome, told) => {
    const operation = play({ attempts: [lost] });
    await operation.rest();

    await operation.tell(evidence(1, outcome));

    expect(operation.told).toBe(told);
  });

  test.each<[string, AttemptResult, string]>([
    ['a success', receipt, 'succeeded'],
    ['a refusal', failed('declined'), 'failed: declined'],
    ['not having been applied', notApplied('429'), 'pending'],
    ['nothing', lost, 'reconciling'],
    ['an effect nobody can read', unreadable, 'reconciling'],
  ])('in reconciling of %s', async (_, outcome, told) => {
    const operation = play({ attempts: [lost], lookups: [inconclusive()] });
    await operation.rest();

    await operation.tell(evidence(1, outcome));

    expect(operation.told).toBe(told);
  });

  test.each<[string, AttemptResult, string]>([
    ['a success', receipt, 'succeeded'],
    ['a refusal', failed('declined'), 'failed: declined'],
    ['not having been applied', notApplied('429'), 'escalated: no-lookup'],
    ['nothing', lost, 'escalated: no-lookup'],
    ['an effect nobody can read', unreadable, 'escalated: no-lookup'],
  ])('in escalated of %s', async (_, outcome, told) => {
    const operation = play({ policy: neither, attempts: [lost] });
    await operation.rest();

    await operation.tell(evidence(1, outcome));

    expect(operation.told).toBe(told);
  });

  test('does not settle two effects', async () => {
    const operation = play({ attempts: [lost], lookups: [found(receipt, succeeded('x', { reference: 'ch_2' }))] });
    await operation.rest();

    await operation.tell(evidence(1, receipt));

    expect(operation.told).toBe('escalated: two-effects');
  });

  test.each<[OperationState, AttemptResult]>([
    ['succeeded', receipt],
    ['failed', failed('declined')],
  ])('does not move what has %s', (state, outcome) => {
    const settled = stateAt(state, { attempts: [outcome] });

    const values = [failed('other'), receipt].map(
      (said) => transition(operationMachine, settled, evidence(1, said))[0].value,
    );

    expect(values).toEqual([state, state]);
  });

  test('does not move what is being compensated', async () => {
    const operation = play({ attempts: [receipt] });
    await operation.rest();

    await operation.tell(compensate, evidence(1, failed('declined')));

    expect(operation.told).toBe('compensating');
  });
});

describe('two effects', () => {
  const second = succeeded('another receipt', { reference: 'ch_2' });

  test.each<[string, Script, OperationEvent[]]>([
    ['while waiting', { policy: retentionOnly, attempts: [lost, refusedToSend] }, [due]],
    ['while an attempt runs', { policy: retentionOnly, attempts: [lost] }, [due, due]],
    ['while in doubt', { policy: lookupOnly, attempts: [lost], lookups: [inconclusive()] }, [due]],
  ])('told %s are handed to a person with both', async (_, script, events) => {
    const operation = play(script);
    for (const event of events) await operation.tell(event);

    await operation.tell(evidence(1, unreadable), evidence(1, second));

    expect(operation.told).toBe('escalated: two-effects');
    expect(JSON.stringify(operation.history)).toMatch(/ch_1.*ch_2/);
  });

  test('that a look-up shows are handed to a person, also when one of them cannot be read', async () => {
    const records = { type: 'found-unusably', references: ['ch_1', 'ch_2'], why: 'not the declared shape' } as const;
    const operation = play({ attempts: [lost], lookups: [records] });

    await operation.rest();

    expect(operation.told).toBe('escalated: two-effects');
  });

  test('told by the reply itself are handed to a person', async () => {
    const operation = play({ attempts: [second] });

    await operation.tell(due, evidence(1, unreadable));

    expect(operation.told).toBe('escalated: two-effects');
  });
});

describe('an effect whose output cannot be used', () => {
  test('is supplied by the look-up', async () => {
    const operation = play({ attempts: [unreadable], lookups: [inconclusive(), found(receipt)] });

    await operation.rest();

    expect(operation.path).toEqual(['pending', 'in-progress', 'unknown', 'reconciling', 'succeeded']);
    expect(operation.history.result?.output).toBe('receipt');
  });

  test.each<[string, Script]>([
    ['the look-up finds nothing', { attempts: [unreadable, receipt], lookups: [absent()] }],
    ['the look-up finds it as unusable', { attempts: [unreadable, receipt], lookups: [unreadableRecord] }],
    ['there is no look-up', { policy: retentionOnly, attempts: [unreadable, receipt] }],
    ['there is neither look-up nor key', { policy: neither, attempts: [unreadable, receipt] }],
  ])('is handed to a person and never sent again when %s', async (_, script) => {
    const operation = play(script);

    await operation.rest();
    await operation.tell(didNotHappen);

    expect(operation.told).toBe('escalated: output-unusable');
    expect(operation.history.attempts).toHaveLength(1);
  });
});

describe('an effect that is taken back', () => {
  async function compensating() {
    const operation = await play({ attempts: [receipt] }).rest();
    return operation.tell(compensate);
  }

  test('is not while a saga that joined it is unsettled', async () => {
    const operation = await play({ attempts: [receipt] }).rest();

    await operation.tell({ type: 'compensation.begun', unsettledJoiners: 1 });

    expect(operation.told).toBe('succeeded');
  });

  test('waits for its inverse', async () => {
    const operation = await compensating();

    await operation.tell(cancel, due, didNotHappen, compensate);

    expect(operation.told).toBe('compensating');
  });

  test('is compensated when its inverse has succeeded', async () => {
    const operation = await compensating();

    await operation.tell({ type: 'compensation.succeeded' });

    expect(operation.told).toBe('compensated');
  });

  test.each<[string, OperationEvent, OperationState]>([
    ['taken back by hand', { type: 'effect.takenBack' }, 'compensated'],
    ['left standing', { type: 'effect.leftStanding' }, 'succeeded'],
  ])('whose inverse was refused is %s by a person, and the refusal is kept', async (_, event, state) => {
    const operation = await compensating();
    await operation.tell({ type: 'compensation.refused', code: 'already-shipped' });
    const asked = operation.told;

    await operation.tell(evidence(1, lost), happened, wasRefused, didNotHappen, { type: 'lookup.requested' });
    const unmoved = operation.told;
    await operation.tell(event);

    expect([asked, unmoved]).toEqual(['escalated: inverse-failed', 'escalated: inverse-failed']);
    expect([operation.told, operation.inverseCode]).toEqual([state, 'already-shipped']);
  });

  test.each<[string, OperationEvent, string]>([
    ['taken back by hand', { type: 'effect.takenBack' }, 'compensated'],
    ['left standing', { type: 'effect.leftStanding' }, 'succeeded'],
    ['taken back again', compensate, 'compensating'],
  ])('whose inverse cannot be begun is %s by a person', async (_, event, state) => {
    const operation = await compensating();
    await operation.tell({ type: 'compensation.faulted' });
    const asked = operation.told;

    await operation.tell(happened, wasRefused, didNotHappen, { type: 'lookup.requested' });
    await operation.tell({ type: 'compensation.begun', unsettledJoiners: 1 });
    const unmoved = operation.told;
    await operation.tell(event);

    expect([asked, unmoved]).toEqual(['escalated: definition-fault', 'escalated: definition-fault']);
    expect(operation.told).toBe(state);
  });

  test('stands again when its inverse was given up, and can be taken back later', async () => {
    const operation = await compensating();

    await operation.tell({ type: 'compensation.givenUp' });
    const stands = operation.told;
    await operation.tell(compensate);

    expect([stands, operation.told]).toEqual(['succeeded', 'compensating']);
  });

  test('and whose inverse was refused is not taken back again: there is one inverse ever', async () => {
    const operation = await compensating();

    await operation.tell({ type: 'compensation.refused', code: 'already-shipped' }, compensate);

    expect(operation.told).toBe('escalated: inverse-failed');
  });

  test.each<OperationEvent>([{ type: 'effect.takenBack' }, { type: 'effect.leftStanding' }])(
    'is not asked about while the operation itself waits for a person ($type)',
    async (event) => {
      const operation = await play({ policy: neither, attempts: [lost] }).rest();

      await operation.tell(event);

      expect(operation.told).toBe('escalated: no-lookup');
    },
  );
});

describe('an inverse', () => {
  const inverse: Policy = { ...onceMore(limited, 1), inverse: true };

  test.each<[string, Script]>([
    ['not applied', { policy: inverse, attempts: [notApplied('429')] }],
    ['found absent', { policy: inverse, attempts: [lost], lookups: [absent()] }],
    ['found absent at last', { policy: inverse, attempts: [lost], lookups: [inconclusive(), absent()] }],
  ])('with no attempts left does not fail but waits for a person (%s)', async (_, script) => {
    const operation = play(script);

    await operation.rest();

    expect(operation.told).toBe('escalated: inverse-failed');
  });

  test('goes on when the person grants another attempt', async () => {
    const operation = await play({ policy: inverse, attempts: [notApplied('429'), receipt] }).rest();

    await operation.tell(didNotHappen);
    await operation.rest();

    expect(operation.told).toBe('succeeded');
  });

  test.each<[AttemptResult]>([[lost], [notApplied('429')]])(
    'that waits for a person is not failed by evidence that proves no more (%o)',
    async (outcome) => {
      const operation = await play({ policy: inverse, attempts: [notApplied('429')] }).rest();

      await operation.tell(evidence(1, outcome));

      expect(operation.told).toBe('escalated: inverse-failed');
    },
  );

  test('that was refused has failed', async () => {
    const operation = await play({ policy: inverse, attempts: [failed('already-shipped')] }).rest();

    const { told } = operation;

    expect(told).toBe('failed: already-shipped');
  });

  test('whose attempt turns out to count while it waits does not fail either', async () => {
    const operation = await play({ policy: inverse, attempts: [refusedToSend] }).tell(due);

    await operation.tell(evidence(1, notApplied('429')));

    expect(operation.told).toBe('escalated: inverse-failed');
  });
});

describe('an attempt that was thought not to have been sent', () => {
  test('counts once the provider has refused it, so that none is left for the unproven one', () => {
    const waiting = stateAt('pending', { policy: onceMore(retentionOnly, 2), attempts: [lost, refusedToSend] });

    const [known] = transition(operationMachine, waiting, evidence(2, failed('declined')));
    const [last] = transition(operationMachine, known, due);

    expect(known.value).toBe('pending');
    expect([last.value, last.context.reason]).toEqual(['escalated', 'no-lookup']);
  });
});

describe('the names of the states', () => {
  const names: readonly OperationState[] = [
    'pending',
    'in-progress',
    'unknown',
    'reconciling',
    'escalated',
    'succeeded',
    'failed',
    'compensating',
    'compensated',
  ];

  test('are those of column, log and API, and no others', () => {
    const drawn = Object.keys(operationMachine.states);

    expect(drawn).toEqual(names);
    expectTypeOf<StateValueFrom<typeof operationMachine>>().toEqualTypeOf<OperationState>();
  });
});

interface Arrow {
  readonly from: string;
  readonly event: string;
  readonly guard: string;
  /** Null where something is only learnt. */
  readonly to: string | null;
}

/** Every transition of the chart in the order in which it is considered. */
function arrows(): Arrow[] {
  return Object.values(operationMachine.states).flatMap((node) =>
    [...(node.always ?? []), ...[...node.transitions.values()].flat()].map(({ eventType, guard, target }) => ({
      from: node.key,
      event: eventType.replace(/^$/, '(at once)').replace(/^xstate\.(done|error)\.actor\.(.*)$/, '$2 $1'),
      guard: typeof guard === 'string' ? guard : '',
      to: target?.[0]?.key ?? null,
    })),
  );
}

/** One transition a line, below a line of headings. */
function drawn(rows: readonly Arrow[]): string {
  const cells = rows.map(({ from, event, guard, to }) => [from, event, guard, to ?? '(stays)']);
  const lines = [['from', 'event', 'guard', 'to'], ...cells];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) => line.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | '))
    .map((line) => `\n${line.trimEnd()}`)
    .join('');
}

/** What the product promises, each arrow once. */
const promised: readonly string[] = [
  'pending -> in-progress', // it is due
  'pending -> reconciling', // due, but something is unproven and its window over
  'pending -> escalated', // the same, and nobody can be asked
  'pending -> pending', // due, but a fail-over may have lost a start: later, under the same key
  'pending -> succeeded', // evidence
  'pending -> failed', // evidence, or cancelled with nothing unproven
  'in-progress -> succeeded',
  'in-progress -> failed',
  'in-progress -> unknown',
  'in-progress -> pending', // not applied, attempts left
  'in-progress -> escalated', // two effects, ten refused sends, an inverse without attempts
  'unknown -> reconciling', // the first look-up settled nothing
  'unknown -> pending', // found absent, or the same key is safe
  'unknown -> succeeded',
  'unknown -> failed',
  'unknown -> escalated',
  'reconciling -> reconciling', // later
  'reconciling -> pending',
  'reconciling -> succeeded',
  'reconciling -> failed',
  'reconciling -> escalated',
  'escalated -> succeeded', // evidence, a person, or an effect left standing
  'escalated -> failed',
  'escalated -> pending', // a person: it did not happen
  'escalated -> reconciling', // a person: look again
  'escalated -> compensated', // a person: taken back by hand
  'escalated -> compensating', // a person: taken back, now that its inverse can be begun
  'succeeded -> compensating',
  'compensating -> compensated',
  'compensating -> escalated', // its inverse was refused, or cannot be begun
  'compensating -> succeeded', // its inverse was given up, without any effect
];

describe('the chart as a table', () => {
  test('reads like this', () => {
    const table = drawn(arrows());

    expect(table).toMatchInlineSnapshot(`
      "
      from         | event                  | guard                        | to
      pending      | due                    | startMayBeLostAndLookup      | reconciling
      pending      | due                    | startMayBeLostUnprovably     | escalated
      pending      | due                    | startMayBeLost               | pending
      pending      | due                    | mayNotStartAndLookup         | reconciling
      pending      | due                    | mayNotStart                  | escalated
      pending      | due                    |                              | in-progress
      pending      | evidence.received      | provenTwoEffects             | escalated
      pending      | evidence.received      | provenSuccess                | succeeded
      pending      | evidence.received      | provenUnusableAndLookup      | reconciling
      pending      | evidence.received      | provenUnusable               | escalated
      pending      | evidence.received      | inverseExhausted             | escalated
      pending      | evidence.received      | provenFailure                | failed
      pending      | evidence.received      |                              | (stays)
      pending      | join.requested         |                              | (stays)
      pending      | cancel.requested       | provenFailure                | failed
      pending      | cancel.requested       | canLookUp                    | reconciling
      pending      | cancel.requested       | startMayBeLost               | escalated
      pending      | cancel.requested       |                              | escalated
      in-progress  | evidence.received      | provenTwoEffects             | escalated
      in-progress  | evidence.received      | provenSuccess                | succeeded
      in-progress  | evidence.received      |                              | (stays)
      in-progress  | cancel.requested       |                              | (stays)
      in-progress  | join.requested         |                              | (stays)
      in-progress  | attempt done           | provenTwoEffects             | escalated
      in-progress  | attempt done           | provenSuccess                | succeeded
      in-progress  | attempt done           | inverseExhausted             | escalated
      in-progress  | attempt done           | provenFailure                | failed
      in-progress  | attempt done           | couldNotSend                 | escalated
      in-progress  | attempt done           | mayTryAgain                  | pending
      in-progress  | attempt done           |                              | unknown
      in-progress  | attempt error          | provenTwoEffects             | escalated
      in-progress  | attempt error          | provenSuccess                | succeeded
      in-progress  | attempt error          | inverseExhausted             | escalated
      in-progress  | attempt error          | provenFailure                | failed
      in-progress  | attempt error          | couldNotSend                 | escalated
      in-progress  | attempt error          | mayTryAgain                  | pending
      in-progress  | attempt error          |                              | unknown
      unknown      | (at once)              | mayResubmitUnasked           | pending
      unknown      | (at once)              | cannotLookUp                 | escalated
      unknown      | evidence.received      | provenTwoEffects             | escalated
      unknown      | evidence.received      | provenSuccess                | succeeded
      unknown      | evidence.received      | inverseExhausted             | escalated
      unknown      | evidence.received      | provenFailure                | failed
      unknown      | evidence.received      | mayStartAfresh               | pending
      unknown      | evidence.received      |                              | (stays)
      unknown      | cancel.requested       |                              | (stays)
      unknown      | join.requested         |                              | (stays)
      unknown      | lookup done            | provenTwoEffects             | escalated
      unknown      | lookup done            | provenSuccess                | succeeded
      unknown      | lookup done            | inverseExhausted             | escalated
      unknown      | lookup done            | provenFailure                | failed
      unknown      | lookup done            | startMayBeLost               | reconciling
      unknown      | lookup done            | mayStartAfresh               | pending
      unknown      | lookup done            | lookupGivesUp                | escalated
      unknown      | lookup done            |                              | reconciling
      unknown      | lookup error           | provenTwoEffects             | escalated
      unknown      | lookup error           | provenSuccess                | succeeded
      unknown      | lookup error           | inverseExhausted             | escalated
      unknown      | lookup error           | provenFailure                | failed
      unknown      | lookup error           | startMayBeLost               | reconciling
      unknown      | lookup error           | mayStartAfresh               | pending
      unknown      | lookup error           | lookupGivesUp                | escalated
      unknown      | lookup error           |                              | reconciling
      reconciling  | evidence.received      | provenTwoEffects             | escalated
      reconciling  | evidence.received      | provenSuccess                | succeeded
      reconciling  | evidence.received      | inverseExhausted             | escalated
      reconciling  | evidence.received      | provenFailure                | failed
      reconciling  | evidence.received      | mayStartAfresh               | pending
      reconciling  | evidence.received      |                              | (stays)
      reconciling  | cancel.requested       |                              | (stays)
      reconciling  | join.requested         |                              | (stays)
      reconciling  | lookup done            | provenTwoEffects             | escalated
      reconciling  | lookup done            | provenSuccess                | succeeded
      reconciling  | lookup done            | inverseExhausted             | escalated
      reconciling  | lookup done            | provenFailure                | failed
      reconciling  | lookup done            | startMayBeLost               | reconciling
      reconciling  | lookup done            | mayStartAfresh               | pending
      reconciling  | lookup done            | lookupGivesUp                | escalated
      reconciling  | lookup done            |                              | reconciling
      reconciling  | lookup error           | provenTwoEffects             | escalated
      reconciling  | lookup error           | provenSuccess                | succeeded
      reconciling  | lookup error           | inverseExhausted             | escalated
      reconciling  | lookup error           | provenFailure                | failed
      reconciling  | lookup error           | startMayBeLost               | reconciling
      reconciling  | lookup error           | mayStartAfresh               | pending
      reconciling  | lookup error           | lookupGivesUp                | escalated
      reconciling  | lookup error           |                              | reconciling
      escalated    | evidence.received      | evidenceProvesTwoEffects     | (stays)
      escalated    | evidence.received      | evidenceProvesSuccess        | succeeded
      escalated    | evidence.received      | evidenceProvesFailure        | failed
      escalated    | evidence.received      |                              | (stays)
      escalated    | verdict.given          | decidedSucceeded             | succeeded
      escalated    | verdict.given          | decidedFailed                | failed
      escalated    | verdict.given          | decidedNotAppliedAfterCancel | failed
      escalated    | verdict.given          | decidedNotApplied            | pending
      escalated    | lookup.requested       | mayLookUpAgain               | reconciling
      escalated    | cancel.requested       |                              | (stays)
      escalated    | join.requested         | concernsItself               | (stays)
      escalated    | compensation.begun     | mayBeginInverseAgain         | compensating
      escalated    | effect.takenBack       | concernsTheInverse           | compensated
      escalated    | effect.leftStanding    | concernsTheInverse           | succeeded
      succeeded    | compensation.begun     | noJoinedSagaUnsettled        | compensating
      succeeded    | join.requested         |                              | (stays)
      compensating | compensation.succeeded |                              | compensated
      compensating | compensation.refused   |                              | escalated
      compensating | compensation.faulted   |                              | escalated
      compensating | compensation.givenUp   |                              | succeeded"
    `);
  });

  test('has every promised arrow and no other', () => {
    const existing = arrows().flatMap(({ from, to }) => (to === null ? [] : [`${from} -> ${to}`]));

    expect([...new Set(existing)].toSorted()).toEqual(promised.toSorted());
  });
});

/** One step of a walk: what the state is waiting for, or with `odd` something that may come at any time. */
interface Step {
  readonly afterMs: number;
  readonly outcome: AttemptResult;
  readonly finding: LookupAnswer['finding'];
  readonly lookupTookMs: number;
  readonly throws: boolean;
  readonly verdict: OperationEvent;
  readonly inverse: OperationEvent;
  readonly odd: OperationEvent | null;
  /** The database fails over before it. */
  readonly failsOver: boolean;
}

function eventOf(step: Step, state: OperationState, now: number): OperationEvent {
  if (step.odd !== null) return step.odd;
  switch (state) {
    case 'pending':
      return due;
    case 'in-progress':
      return step.throws ? attemptThrew : attemptDone(step.outcome);
    case 'unknown':
    case 'reconciling':
      return step.throws ? lookupThrew : lookupDone(step.finding, Math.max(0, now - step.lookupTookMs));
    case 'escalated':
      return step.verdict;
    case 'succeeded':
      return compensate;
    case 'compensating':
      return step.inverse;
    case 'failed':
    case 'compensated':
      return due;
  }
}

const seed = Number(process.env['SAGACITY_SEED'] ?? 20_260_101);

const reference = fc.constantFrom({}, { reference: 'ch_1' }, { reference: 'ch_2' });
const success = reference.map((options) => succeeded('receipt', options));
const outcomes: fc.Arbitrary<AttemptResult> = fc.oneof(
  { weight: 1, arbitrary: success },
  {
    weight: 1,
    arbitrary: reference.map(
      (named) => ({ type: 'succeeded-unusably', reason: 'not the declared shape', ...named }) as const,
    ),
  },
  { weight: 1, arbitrary: fc.constant(failed('declined')) },
  { weight: 7, arbitrary: fc.constantFrom<AttemptResult>(notApplied('429'), refusedToSend, lost, lost) },
);
const findings: fc.Arbitrary<LookupAnswer['finding']> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<LookupAnswer['finding']>(absent(), inconclusive()) },
  { weight: 1, arbitrary: fc.constantFrom<LookupAnswer['finding']>(unreadableRecord, found(failed('declined'))) },
  { weight: 1, arbitrary: success.map((record) => found(record)) },
  { weight: 1, arbitrary: fc.tuple(success, success).map(([first, second]) => found(first, second)) },
);
const verdicts = fc.constantFrom<OperationEvent>(
  happened,
  wasRefused,
  didNotHappen,
  didNotHappen,
  { type: 'lookup.requested' },
  { type: 'lookup.requested' },
  { type: 'effect.takenBack' },
  { type: 'effect.leftStanding' },
  compensate,
);
const inverses = fc.constantFrom<OperationEvent>(
  { type: 'compensation.succeeded' },
  { type: 'compensation.refused', code: 'already-shipped' },
  { type: 'compensation.faulted' },
  { type: 'compensation.givenUp' },
);
const odd = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 4 }), outcomes, fc.constantFrom(undefined, 'timeline-0', 'timeline-1'))
      .map(([number, said, timeline]) => evidence(number, said, timeline)),
  },
  { weight: 1, arbitrary: fc.constant(cancel) },
  { weight: 1, arbitrary: verdicts },
  { weight: 1, arbitrary: inverses },
  { weight: 1, arbitrary: outcomes.map(attemptDone) },
  { weight: 1, arbitrary: findings.map((finding) => lookupDone(finding, 0)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<OperationEvent>(due, compensate, { type: 'compensation.begun', unsettledJoiners: 1 }),
  },
);
const steps: fc.Arbitrary<Step> = fc.record({
  afterMs: fc.constantFrom(0, 1, 10, 30, 200),
  outcome: outcomes,
  finding: findings,
  lookupTookMs: fc.constantFrom(0, 1, 10, 30),
  throws: fc.constantFrom(false, false, false, false, true),
  verdict: verdicts,
  inverse: inverses,
  odd: fc.option(odd, { freq: 2 }),
  failsOver: fc.integer({ min: 0, max: 15 }).map((chance) => chance === 0),
});
const policies: fc.Arbitrary<Policy> = fc.record({
  contract: fc.constant(null),
  keyRetentionMs: fc.constantFrom(null, 300),
  lookup: fc.option(
    fc.record({
      visibleWithinMs: fc.constant(10),
      arrivalLimitMs: fc.constantFrom(null, 100),
      everyMs: fc.constant(5),
      giveUpAfterMs: fc.constantFrom(200, 1_000),
    }),
  ),
  timeoutMs: fc.constant(10),
  sendWithinMs: fc.constant(5),
  retry: fc.record({
    attempts: fc.integer({ min: 1, max: 3 }),
    backoff: fc.constant('fixed' as const),
    delayMs: fc.constant(20),
    maxDelayMs: fc.constant(20),
    jitter: fc.constant('none' as const),
  }),
  inverse: fc.boolean(),
});

const reasons: Record<EscalationReason, true> = {
  'no-lookup': true,
  'absent-not-final': true,
  'window-passed': true,
  'lookup-exhausted': true,
  'two-effects': true,
  'output-unusable': true,
  'could-not-send': true,
  'inverse-failed': true,
  'step-failed': true,
  joined: true,
  'timeline-changed': true,
  'definition-fault': true,
  'definition-changed': true,
  limit: true,
};

/** One step as the invariants see it. */
interface Seen {
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly event: OperationEvent;
  readonly facts: Facts;
  /** Delays of the `due` that were armed in this step. */
  readonly armed: readonly number[];
  /** Attempts that had not been counted, because they were thought not to have been sent, until evidence came. */
  readonly countedLate: number;
}

const unprovenStandings = ['open', 'unproven', 'absent'];

function isUnproven({ attempts }: History): boolean {
  return attempts.some(({ standing }) => unprovenStandings.includes(standing));
}

function hasProvenEffect({ attempts, found: records }: History): boolean {
  return records.length > 0 || attempts.some(({ standing }) => standing === 'effect');
}

/** The attempts of this step: one that was started, or one that a fail-over may have lost. */
function added({ before, after }: Seen): History['attempts'] {
  return after.context.history.attempts.slice(before.context.history.attempts.length);
}

function started(seen: Seen): boolean {
  return added(seen).some(({ assumedOn }) => assumedOn === undefined);
}

function assumed(seen: Seen): boolean {
  return added(seen).some(({ assumedOn }) => assumedOn !== undefined);
}

function isLost({ before, facts }: Seen): boolean {
  return startMayBeLost(before.context.history, facts);
}

function entered({ before, after }: Seen, state: OperationState): boolean {
  return after.value === state && before.value !== state;
}

/** Each holds after every step of every walk. */
const invariants: Record<string, (seen: Seen) => boolean> = {
  'nothing leaves failed or compensated': ({ before, after }) =>
    (before.value !== 'failed' && before.value !== 'compensated') || after.value === before.value,
  'succeeded is left only by its own compensation': ({ before, after }) =>
    before.value !== 'succeeded' || after.value === 'succeeded' || after.value === 'compensating',
  'what is unproven is sent again only under a key that is still retained': (seen) =>
    !started(seen) ||
    !isUnproven(seen.before.context.history) ||
    (seen.before.context.policy.keyRetentionMs !== null && seen.facts.now < (seen.facts.windowEndsAt ?? 0)),
  'what is unproven waits to be sent again only where a key is retained': (seen) =>
    !entered(seen, 'pending') ||
    !isUnproven(seen.after.context.history) ||
    seen.after.context.policy.keyRetentionMs !== null,
  'nothing is sent once an effect is proven': (seen) => !started(seen) || !hasProvenEffect(seen.before.context.history),
  'nothing is sent once it is cancelled': (seen) => !started(seen) || !seen.before.context.history.cancelled,
  'no attempt starts beyond those allowed and granted': (seen) => {
    const { history, policy } = seen.after.context;
    const counted = history.attempts.filter(({ standing }) => standing !== 'not-sent').length;
    return !started(seen) || counted <= policy.retry.attempts + history.grants + seen.countedLate;
  },
  'nothing is sent while a start may be lost': (seen) => !started(seen) || !isLost(seen),
  'only a person fails what a start may be lost of': (seen) =>
    !entered(seen, 'failed') || !isLost(seen) || (seen.event.type === 'verdict.given' && seen.event !== didNotHappen),
  'what a fail-over may have lost is reckoned with once': (seen) => {
    const { attempts } = seen.after.context.history;
    const timelines = attempts.flatMap(({ assumedOn }) => assumedOn ?? []);
    return new Set(timelines).size === timelines.length && (!assumed(seen) || isLost(seen));
  },
  'an attempt starts only by going in-progress': (seen) => started(seen) === entered(seen, 'in-progress'),
  'a proven effect stays proven': ({ before, after }) =>
    !hasProvenEffect(before.context.history) || hasProvenEffect(after.context.history),
  'it waits for a person with a reason of the closed list, and has none otherwise': ({ after }) =>
    after.value === 'escalated'
      ? after.context.reason !== null && reasons[after.context.reason]
      : after.context.reason === null,
  'it has a code when it failed, and none otherwise': ({ after }) =>
    (after.value === 'failed') === (after.context.code !== null),
  'nobody fails what is proven to have happened once': (seen) =>
    !entered(seen, 'failed') ||
    seen.before.context.reason === 'two-effects' ||
    !hasProvenEffect(seen.after.context.history),
  'only a person fails what is not proven to have failed': (seen) =>
    !entered(seen, 'failed') ||
    seen.event.type === 'verdict.given' ||
    (!hasProvenEffect(seen.after.context.history) && !isUnproven(seen.after.context.history)),
  'it succeeds only with a result': (seen) => !entered(seen, 'succeeded') || seen.after.context.history.result !== null,
  'an inverse never runs out of attempts by itself': ({ after }) =>
    !after.context.policy.inverse || after.context.code !== 'attempts-exhausted',
  'something always comes next': (seen) => {
    const { after } = seen;
    switch (after.value) {
      case 'pending':
        return !(entered(seen, 'pending') || assumed(seen)) || seen.armed.length === 1;
      case 'in-progress':
        return after.children['attempt'] !== undefined;
      case 'unknown':
      case 'reconciling':
        return after.children['lookup'] !== undefined && after.context.policy.lookup !== null;
      case 'compensating':
        return after.can({ type: 'compensation.succeeded' }) && after.can({ type: 'compensation.refused', code: 'x' });
      case 'escalated':
        return after.can(happened) || after.can({ type: 'effect.takenBack' });
      case 'succeeded':
      case 'failed':
      case 'compensated':
        return true;
    }
  },
};

/** Walks from birth; returns what was seen and the first invariant that broke, if one did. */
function walk(
  policy: Policy,
  way: readonly Step[],
): { readonly story: readonly Seen[]; readonly broken: string | null } {
  let facts: Facts = { now: 0, sendBy: null, windowEndsAt: null, lostStartOn: null, random: 0.5 };
  let [before, actions] = initialTransition(operationMachine, { policy, facts });
  const story: Seen[] = [];
  let countedLate = 0;
  let failovers = 0;
  if (armedBy(actions).length !== 1) return { story, broken: 'it is born with something due' };
  for (const step of way) {
    if (step.failsOver) failovers += 1;
    const lostStartOn = failovers === 0 ? null : `timeline-${failovers}`;
    facts = { ...facts, now: facts.now + step.afterMs, lostStartOn };
    const event = eventOf(step, before.value, facts.now);
    if (isLate(before, event)) continue;
    const [after, then] = transition(operationMachine, withFacts(before, facts), event);
    countedLate += newlyCounted(before.context.history, after.context.history);
    const seen = { before, after, event, facts, armed: armedBy(then), countedLate };
    story.push(seen);
    const broken = Object.entries(invariants).find(([, holds]) => !holds(seen));
    if (broken !== undefined) return { story, broken: broken[0] };
    if (started(seen)) facts = startedAt(facts, policy, !isUnproven(before.context.history));
    if (assumed(seen)) facts = lostBefore(facts, policy);
    before = after;
  }
  return { story, broken: null };
}

/** One line a step, for the person who reads the failure. */
function told(story: readonly Seen[]): string {
  return story
    .map(({ before, after, event, facts }) => {
      const attempts = after.context.history.attempts.map(({ standing }) => standing).join(', ');
      return `${facts.now} ms: ${before.value} + ${JSON.stringify(event)} -> ${after.value} [${attempts}]`;
    })
    .join('\n');
}

/** The end of an actor that has been stopped never reaches the chart. */
function isLate({ children }: Snapshot, { type }: OperationEvent): boolean {
  const actor = /^xstate\.(?:done|error)\.actor\.(.*)$/.exec(type)?.[1];
  return actor !== undefined && !Object.hasOwn(children, actor);
}

function newlyCounted(before: History, after: History): number {
  return before.attempts.filter(
    ({ standing, number }) => standing === 'not-sent' && after.attempts[number - 1]?.standing !== 'not-sent',
  ).length;
}

/** The times that the store would have recorded with the start of an attempt. */
function startedAt(facts: Facts, policy: Policy, isFresh: boolean): Facts {
  const { keyRetentionMs, sendWithinMs } = policy;
  const sendBy = facts.now + sendWithinMs;
  if (keyRetentionMs === null) return { ...facts, sendBy };
  const anew = facts.now + keyRetentionMs - marginMs(policy);
  const end = facts.windowEndsAt ?? anew;
  if (!isFresh) return { ...facts, sendBy: Math.min(sendBy, end), windowEndsAt: end };
  return { ...facts, sendBy, windowEndsAt: facts.now >= end + marginMs(policy) ? anew : end };
}

/** The times that it would have recorded with one that may be lost. */
function lostBefore(facts: Facts, policy: Policy): Facts {
  const { keyRetentionMs } = policy;
  const endsAt = keyRetentionMs === null ? null : facts.now + keyRetentionMs - marginMs(policy) - 20;
  return { ...facts, sendBy: facts.now + policy.sendWithinMs, windowEndsAt: facts.windowEndsAt ?? endsAt };
}

function armedBy(actions: readonly { readonly type: string; readonly params: unknown }[]): number[] {
  return actions.flatMap(({ type, params }) => {
    // The parameters of XState's own action, which it types as unknown.
    const { id, delay } = (params ?? {}) as { id?: string; delay?: number };
    return type === 'xstate.raise' && id === 'due' && delay !== undefined ? [delay] : [];
  });
}

describe('an operation to which anything happens in any order', () => {
  test(`keeps its promises (SAGACITY_SEED=${seed})`, () => {
    const anything = fc.tuple(policies, fc.array(steps, { minLength: 5, maxLength: 40, size: 'max' }));
    const reached = new Set<string>();

    fc.assert(
      fc.property(anything, ([policy, way]) => {
        const { story, broken } = walk(policy, way);
        for (const { before, after } of story)
          if (before.value !== after.value) reached.add(`${before.value} -> ${after.value}`);
        if (broken !== null) throw new Error(`Broken: ${broken}.\n${JSON.stringify(policy)}\n${told(story)}`);
      }),
      { seed, numRuns: 1_000 },
    );

    expect([...reached].toSorted()).toEqual(
      promised.filter((arrow) => arrow !== 'reconciling -> reconciling' && arrow !== 'pending -> pending').toSorted(),
    );
  });
});
