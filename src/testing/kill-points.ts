/**
 * Kill points: the moments around everything that an orchestrator makes durable, and around what it says to others, each
 * under a name. A process that dies at one of them leaves behind what was written until then, and has to be gone on from
 * there by whoever comes next. The points are seen from outside, at the store, at the executors and at the waker: an
 * orchestrator that nobody watches knows nothing of them, and pays nothing.
 */

import { isSagaSettled } from '../domain/saga-state.ts';
import type { Call, Caller } from '../ports/caller.ts';
import { keyOf, type OperationRef, type RecordKind } from '../ports/store.ts';
import type { SagaTurn, Sought, Store, Turn, Turns } from '../ports/store.ts';
import type { News, Wake, Waker } from '../ports/waker.ts';
import { overlay } from './overlay.ts';

/** What is made durable. */
export const durables = [
  /** What was submitted, and with it the start of what it begins with. */
  'birth',
  /** The start of an attempt whose operation was there already. */
  'start',
  /** How an attempt ended. */
  'end',
  /** What a look-up found. */
  'look-up',
  /** What somebody else said: a late result, a person's decision, a cancellation. */
  'word',
  /** The next step of a saga, with the end of the one before. */
  'step',
  /** The next inverse of a saga, with what made it necessary or the end of the one before. */
  'inverse',
  /** How a saga ended. */
  'ending',
  /** Any other turn. */
  'move',
  /** That a worker owns what nobody owned, or what a worker that died owned. */
  'claim',
  /** Something said about what another worker owns. */
  'hand-over',
  /** That a worker is there. */
  'enlist',
  /** That a worker lives on. */
  'renew',
  /** That a worker gave up what it owned, because it stops. */
  'retire',
  /** That a worker which is silent has died. */
  'bury',
] as const;

export type Durable = (typeof durables)[number];

/**
 * `before` it is sent to the store. `during`: it was handed to the store, and nothing has been heard of it. `after`: it is
 * durable, and the orchestrator has not heard of it. A claim that claims nothing is over without an `after`.
 */
export type Side = 'before' | 'during' | 'after';

/** What a waker is asked for. It never tells what became of that, so that there is no `after`. */
export const hints = [
  /** A timer of what nobody holds, which may outlive the process. */
  'timer',
  /** What other processes are told, or woken for at once. That something has changed is for who only watches it. */
  'news',
] as const;

export type Hint = (typeof hints)[number];

/**
 * Around what leaves for the provider there are a moment `before` and one `after`, when the reply is there and unread.
 * Around a wake that anybody could have got they are when it has come and nobody was asked, and when what follows from it
 * is durable, or was left, and the waker has not heard so.
 */
export type KillPoint =
  | `${Side} ${Durable}`
  | `${'before' | 'after'} ${Call['kind'] | 'wake'}`
  | `${'before' | 'during'} ${Hint}`;

/** Every kill point, in the order in which a life goes by them. */
export const killPoints: readonly KillPoint[] = [
  ...durables.flatMap((durable) =>
    (['before', 'during', 'after'] as const).map((side) => `${side} ${durable}` as const),
  ),
  ...(['request', 'question'] as const).flatMap((visit) => [`before ${visit}`, `after ${visit}`] as const),
  ...hints.flatMap((hint) => [`before ${hint}`, `during ${hint}`] as const),
  ...(['before wake', 'after wake'] as const),
];

/**
 * Told of each kill point as it is reached, with the operation or saga it is about (null: a worker). What it returns is
 * waited for, except `during`: a promise that never ends keeps the process from going on. Before a hint it keeps the hint
 * alone, since nobody waits for what a waker is asked.
 */
export type Reached = (point: KillPoint, about: OperationRef | null) => unknown;

/** The same store, whose kill points are told. */
export function withKillPoints(store: Store, reached: Reached): Store {
  const around = async <Answer>(
    durable: Durable,
    about: OperationRef | null,
    write: () => Promise<Answer>,
    isWritten: (answer: Answer) => boolean = () => true,
  ): Promise<Answer> => {
    await reached(`before ${durable}`, about);
    const writing = write();
    void reached(`during ${durable}`, about);
    const answer = await writing;
    if (isWritten(answer)) await reached(`after ${durable}`, about);
    return answer;
  };
  const isThere = (receipt: object | null) => receipt !== null;
  const isSomething = (rows: readonly object[]) => rows.length > 0;
  const watched: Partial<Store> = {
    turn: (turn) => around(madeDurable(turn), turn, () => store.turn(turn), isThere),
    sagaTurn: (turn) => around(madeDurableOfSaga(turn), turn, () => store.sagaTurn(turn), isThere),
    claim: (...given) => around('claim', oneOf(given[3]), () => store.claim(...given), isSomething),
    claimSagas: (...given) => around('claim', oneOf(given[3]), () => store.claimSagas(...given), isSomething),
    handOver: (handover) => around('hand-over', handover, () => store.handOver(handover)),
    signal: (signal) => around('hand-over', signal, () => store.signal(signal)),
    enlist: (...given) => around('enlist', null, () => store.enlist(...given)),
    renew: (...given) => around('renew', null, () => store.renew(...given)),
    retire: (...given) => around('retire', null, () => store.retire(...given)),
    bury: (...given) => around('bury', null, () => store.bury(...given)),
  };
  return overlay(store, watched);
}

/** What a claim is about, if it is about one. */
function oneOf(which: Sought | Turns | undefined): OperationRef | null {
  return which !== undefined && 'id' in which ? which : null;
}

/** A caller whose kill points are told, around another one. */
export function callerWithKillPoints(caller: Caller, reached: Reached): Caller {
  return async (call, go) => {
    const about = { tenant: call.tenant, id: call.operationId };
    await reached(`before ${call.kind}`, about);
    const said: unknown = await caller(call, go);
    await reached(`after ${call.kind}`, about);
    return said;
  };
}

/**
 * A waker whose kill points are told, around another one. The timers of what a process holds are none: they die with it,
 * and nobody else would have been woken by them.
 */
export function wakerWithKillPoints(waker: Waker, reached: Reached): Waker {
  /** The generation under which this process waits for what it holds. */
  const own = new Map<string, number | null>();
  const asking = (hint: Hint, about: OperationRef | null, ask: () => void): void => {
    const asked = (): void => {
      ask();
      void reached(`during ${hint}`, about);
    };
    const said = reached(`before ${hint}`, about);
    // At once where nothing is waited for: a waker that is about to be closed takes nothing later.
    if (said instanceof Promise) void said.then(asked);
    else asked();
  };
  const tell = (news: News): void => {
    const ask = () => waker.tell?.(news);
    if (news.kind === 'changed') ask();
    else asking('news', news.kind === 'freed' ? null : news.ref, ask);
  };
  const watched: Partial<Waker> = {
    start: (onWake, onNews) =>
      waker.start(async (wake) => {
        const about = wokenIn(wake);
        if (own.get(keyOf(about)) === wake.generation && own.delete(keyOf(about))) return await onWake(wake);
        await reached('before wake', about);
        await onWake(wake);
        await reached('after wake', about);
      }, onNews),
    wake(wake, delayMs, whose = 'anybodys') {
      const about = wokenIn(wake);
      const ask = () => waker.wake(wake, delayMs, whose);
      if (whose === 'anybodys') return asking(delayMs > 0 ? 'timer' : 'news', about, ask);
      own.set(keyOf(about), wake.generation);
      ask();
    },
    // One that reaches no other process tells none.
    ...(waker.tell === undefined ? {} : { tell }),
  };
  return overlay(waker, watched);
}

function wokenIn({ tenant, operationId }: Wake): OperationRef {
  return { tenant, id: operationId };
}

function madeDurable({ birth, records }: Turn): Durable {
  return birth === null ? told(records) : 'birth';
}

function madeDurableOfSaga({ birth, state, operations, records }: SagaTurn): Durable {
  if (birth !== null) return 'birth';
  if (isSagaSettled(state)) return 'ending';
  if (operations.some((change) => change.birth !== null)) return state === 'compensating' ? 'inverse' : 'step';
  return told([...records, ...operations.flatMap((change) => change.records)]);
}

const words: readonly RecordKind[] = ['evidence', 'verdict', 'cancel'];

/** By the first of these kinds that a turn's records tell of. */
function told(records: readonly { readonly kind: RecordKind }[]): Durable {
  const tells = (kind: RecordKind) => records.some((record) => record.kind === kind);
  if (words.some(tells)) return 'word';
  if (tells('lookup')) return 'look-up';
  if (tells('end')) return 'end';
  return tells('start') ? 'start' : 'move';
}
