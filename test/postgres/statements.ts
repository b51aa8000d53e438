/** Every statement that the store sends while it works, taken from the code that sends it, with values of a crowd. */

import type { SagaTurn, Turn } from 'sagacity/testing';
import { rendered, type Statement, type StatementName } from '../../src/adapters/postgres/executor.ts';
import { tablesIn } from '../../src/adapters/postgres/schema.ts';
import { applySagaTurns } from '../../src/adapters/postgres/saga-turn.ts';
import { applyTurns } from '../../src/adapters/postgres/turn.ts';
import { verbs } from '../../src/adapters/postgres/verbs.ts';
import { sagaBirth, sagaMoving, step, stepped } from '../../src/testing/store-turns.ts';
import { operationAt, ownedAt, ownedSagaAt, SAGA, SIGNAL, sagaAt, TIMELINES, WORKERS } from './crowd.ts';
import { ACTION, birth, fresh, move } from './turns.ts';

/** One statement as it would be sent. */
export interface Sent {
  readonly title: string;
  readonly name: StatementName;
  readonly text: string;
  readonly values: readonly unknown[];
  /** How many pages it may touch, in tables of any size. */
  readonly pagesMax: number;
}

/** Turns in a full statement. */
export const FULL = 128;
/** Operations in a full claim. */
export const CLAIM_LIMIT = 100;

const tables = tablesIn('sagacity');
const [worker] = WORKERS;
const [, , timeline] = TIMELINES;
const start = { sendWithinMs: 5_000, retentionMs: 60_000, marginMs: 8_000, insideWindow: false, timeline };

/** All of them, those with several shapes more than once. */
export async function everyStatement(): Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  let title = '';
  let pagesMax = 0;
  const execute = async (statement: Statement) => {
    sent.push({ title, name: statement.name, pagesMax, ...rendered(statement) });
    // Enough for those that cannot do without an answer.
    return [{ answer: '{}' }];
  };
  const database = { execute, tables };
  const all = verbs({ read: execute, write: execute, renew: execute }, tables);
  const one = operationAt(7);
  // All that a crowd has settled.
  const settled = { actions: [ACTION], from: Date.now() - 24 * 3_600_000, to: Date.now(), limit: 50 };
  const saga = sagaAt(7);
  const signal = {
    ...{ tenant: saga.tenant, id: saga.id, name: SIGNAL, eventId: 'event-1', fingerprint: 'print' },
    ...{ keepForMs: 60_000, handoverId: 'signal', body: {} },
  };
  const signals = [{ name: SIGNAL, eventId: 'event-1', state: 'applied' as const, why: null }];
  const version = { name: SAGA.name, version: SAGA.version, limit: 50 };
  // A crowd has escalated its sagas an hour ago.
  const place = { ...saga, since: Date.now() - 90 * 60_000 };
  const sagaTurn = (turns: readonly SagaTurn[]) => () => applySagaTurns(database, turns, { lockTimeoutMs: 50 });
  const turn = (turns: readonly Turn[]) => () => applyTurns(database, turns, { lockTimeoutMs: 50 });
  const calls: Readonly<Record<string, readonly [number, () => Promise<unknown>]>> = {
    'a turn that is a birth': [60, turn(births(1))],
    'a turn that is a move': [60, turn(moves(1))],
    'a full statement of births': [4_000, turn(births(FULL))],
    'a full statement of moves': [4_000, turn(moves(FULL))],
    'a full statement of both': [4_000, turn([...births(FULL / 2), ...moves(FULL / 2)])],
    'a turn that is the birth of a saga': [120, sagaTurn(sagaBirths(1))],
    'a turn that is a move of a saga': [120, sagaTurn(sagaMoves(1))],
    'a full statement of births of sagas': [12_000, sagaTurn(sagaBirths(FULL))],
    'a full statement of moves of sagas': [12_000, sagaTurn(sagaMoves(FULL))],
    'a full statement of both of sagas': [12_000, sagaTurn([...sagaBirths(FULL / 2), ...sagaMoves(FULL / 2)])],
    'the birth of a saga with a lock': [140, sagaTurn(sagaBirths(1, [fresh('cart')]))],
    'the birth of a saga that wants what another holds': [120, sagaTurn(sagaBirths(1, [sagaAt(1).resource]))],
    'a full statement of births of sagas with locks': [14_000, sagaTurn(sagaBirths(FULL, [fresh('cart')]))],
    'a turn of a saga that has heard a signal': [140, sagaTurn(sagaMoves(1, { signals }))],
    'a full statement of turns that have heard signals': [14_000, sagaTurn(sagaMoves(FULL, { signals }))],
    'a turn that settles a saga': [140, sagaTurn(sagaMoves(1, { state: 'succeeded' }))],
    'a full statement of turns that settle sagas': [14_000, sagaTurn(sagaMoves(FULL, { state: 'succeeded' }))],
    'a full statement of all of these': [
      14_000,
      sagaTurn([
        ...sagaBirths(FULL / 2, [fresh('cart')]),
        ...sagaMoves(FULL / 4, { signals }),
        ...sagaMoves(FULL / 2, { signals, state: 'succeeded' }).slice(FULL / 4),
      ]),
    ],
    'a signal': [20, () => all.signal({ ...signal, eventId: fresh('event') })],
    'a signal that was sent before': [20, () => all.signal(signal)],
    'a reading of a signal': [20, () => all.readSignal(signal)],
    'the question who holds what': [40, () => all.heldLocks(saga.tenant, [saga.resource, fresh('cart')])],
    'a full claim of sagas that are due': [5_000, () => all.claimSagas(worker, [SAGA], CLAIM_LIMIT)],
    'a full claim of sagas in turn': [
      5_000,
      () => all.claimSagas(worker, [SAGA], CLAIM_LIMIT, { without: ['shop-0'] }),
    ],
    'a claim of one saga': [80, () => all.claimSagas(worker, [SAGA], 1, saga)],
    'a reading of a saga by id': [40, () => all.readSaga(saga)],
    'a reading of a saga by identity': [40, () => all.readSagaByIdentity(saga)],
    'a reading of the records of a saga': [60, () => all.sagaRecords(saga)],
    'a full claim of what is due': [5_000, () => all.claim(worker, [ACTION, 'email.send'], CLAIM_LIMIT)],
    'a full claim of what is due in turn': [
      6_000,
      () => all.claim(worker, [ACTION, 'email.send'], CLAIM_LIMIT, { without: ['shop-0'] }),
    ],
    'a claim of one operation': [60, () => all.claim(worker, [ACTION], 1, one)],
    'an enlistment': [20, () => all.enlist(fresh('worker'))],
    'a renewal': [20, () => all.renew(worker, 15_000, timeline)],
    'the burial of the late': [20, () => all.bury(worker, { timeoutMs: 15_000 })],
    'the burial of all others': [20, () => all.bury(worker, 'others')],
    'a retirement': [800, () => all.retire(worker)],
    'a hand-over': [20, () => all.handOver({ ...one, handoverId: 'more', body: {} })],
    'the question what was handed over': [200, () => all.handedOver(worker, CLAIM_LIMIT)],
    'a reading by id': [20, () => all.read(one)],
    'a reading by identity': [20, () => all.readByIdentity(one)],
    'a reading of records': [20, () => all.records(one)],
    'the first page of doubts': [400, () => all.doubts({ tenant: null, limit: 50, after: null })],
    'a later page of doubts': [400, () => all.doubts({ tenant: null, limit: 50, after: operationAt(3) })],
    "the first page of a tenant's doubts": [1_500, () => all.doubts({ tenant: 'shop-0', limit: 50, after: null })],
    "a later page of a tenant's doubts": [
      1_500,
      () => all.doubts({ tenant: 'shop-0', limit: 50, after: operationAt(3) }),
    ],
    'the first page of escalated sagas': [400, () => all.escalatedSagas({ tenant: null, limit: 50, after: null })],
    'a later page of escalated sagas': [400, () => all.escalatedSagas({ tenant: null, limit: 50, after: place })],
    "the first page of a tenant's escalated sagas": [
      400,
      () => all.escalatedSagas({ tenant: 'shop-0', limit: 50, after: null }),
    ],
    "a later page of a tenant's escalated sagas": [
      400,
      () => all.escalatedSagas({ tenant: 'shop-0', limit: 50, after: place }),
    ],
    // Each that has not settled is counted: of a crowd's hundred thousand, twelve thousand.
    'the versions of sagas': [9_000, () => all.sagaVersions({ tenant: null })],
    "the versions of a tenant's sagas": [9_000, () => all.sagaVersions({ tenant: 'shop-0' })],
    'the first page of the sagas of a version': [
      1_500,
      () => all.sagasInFlight({ ...version, tenant: null, after: null }),
    ],
    'a later page of the sagas of a version': [
      1_500,
      () => all.sagasInFlight({ ...version, tenant: null, after: saga }),
    ],
    "a later page of a tenant's sagas of a version": [
      1_500,
      () => all.sagasInFlight({ ...version, tenant: 'shop-0', after: saga }),
    ],
    'the first page of what settled': [200, () => all.settledBetween({ ...settled, after: null })],
    'a later page of what settled': [200, () => all.settledBetween({ ...settled, after: one })],
    'a page far down in what settled': [200, () => all.settledBetween({ ...settled, after: operationAt(500_005) })],
  };
  for (const [of, [max, call]] of Object.entries(calls)) {
    title = of;
    pagesMax = max;
    // oxlint-disable-next-line no-await-in-loop -- what is sent takes the title of its call
    await call();
  }
  return sent;
}

function births(count: number): Turn[] {
  return Array.from({ length: count }, (_, n) => birth(`shop-${n % 3}`, { owner: worker, start, takes: ['said'] }));
}

/** Of what is being worked on; in a crowd of a million a hundred of them move, the others find no row. */
function moves(count: number): Turn[] {
  return Array.from({ length: count }, (_, n) => {
    const { ref, owner } = ownedAt(n);
    return move(ref, { owner, generation: 1, revision: 1 }, { start, takes: ['said'] });
  });
}

/** Each begins two operations; the locks of each but the first have names of their own. */
function sagaBirths(count: number, locks: readonly string[] = []): SagaTurn[] {
  return Array.from({ length: count }, (_, n) =>
    sagaBirth(
      `shop-${n % 3}`,
      {
        ...{ owner: worker, timeline, takes: ['said'] },
        operations: [step({ start }), step({ start })],
        dues: [{ name: 'within', inMs: 60_000 }],
      },
      { locks: locks.map((resource) => (n === 0 ? resource : `${resource}-${n}`)) },
    ),
  );
}

/** Of what is being worked on: each ends one operation and begins another. */
function sagaMoves(count: number, turn: Partial<SagaTurn> = {}): SagaTurn[] {
  return Array.from({ length: count }, (_, n) => {
    const { owner, operation, ...ref } = ownedSagaAt(n);
    return sagaMoving(
      ref,
      { owner, generation: 1, revision: 1 },
      {
        ...{ timeline, takes: ['said'], operations: [stepped({ id: operation }, { start }), step({ start })] },
        dues: [
          { name: 'within', inMs: null },
          { name: 'step', inMs: 5_000 },
        ],
        ...turn,
      },
    );
  });
}
