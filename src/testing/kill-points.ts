/**
 * Kill points: the moments around everything that an orchestrator makes durable, each under a name. A process that dies
 * at one of them leaves behind what was written until then, and has to be gone on from there by whoever comes next. The
 * points are seen from outside, at the store and at the executors: an orchestrator that nobody watches knows nothing of
 * them, and pays nothing.
 */

import { isSagaSettled } from '../domain/saga-state.ts';
import type { Call, Caller } from '../ports/caller.ts';
import type { OperationRef, RecordKind, SagaTurn, Sought, Store, Turn, Turns } from '../ports/store.ts';
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

/** Around what leaves for the provider there are a moment `before` and one `after`, when the reply is there and unread. */
export type KillPoint = `${Side} ${Durable}` | `${'before' | 'after'} ${Call['kind']}`;

/** Every kill point, in the order in which a life goes by them. */
export const killPoints: readonly KillPoint[] = [
  ...durables.flatMap((durable) =>
    (['before', 'during', 'after'] as const).map((side) => `${side} ${durable}` as const),
  ),
  ...(['request', 'question'] as const).flatMap((visit) => [`before ${visit}`, `after ${visit}`] as const),
];

/**
 * Told of each kill point as it is reached, with the operation or saga it is about (null: a worker). What it returns is
 * waited for, except `during`: a promise that never ends keeps the process from going on.
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
