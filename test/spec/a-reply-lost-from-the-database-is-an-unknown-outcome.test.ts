/**
 * G13. Between the store and a real PostgreSQL stands a proxy that loses, of each statement of ours in turn, the
 * request (the server never hears it) or the reply (it is committed and nobody is told). The caller sees the same error
 * either way; what must come of it is the same too: one record at the provider, one history without gaps.
 */

import {
  createOrchestrator,
  isSagacityError,
  type Orchestrator,
  type Run,
  saga,
  type SagaRun,
  signal,
  type Store,
  typed,
} from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import {
  faultProxy,
  type FaultProxy,
  postgresFaults,
  type PostgresFaults,
  scriptedProvider,
  type ScriptedProvider,
} from 'sagacity/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/adapters/local/clock.ts';
import { statementNames } from '../../src/adapters/postgres/executor.ts';
import { commit } from '../../src/orchestrator/commit.ts';
import type { Turn } from '../../src/ports/store.ts';
import { quickCharge } from '../support/crash.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { sagaReached } from '../support/saga-shop.ts';
import type { Payment } from '../support/shop.ts';
import { reached, until } from '../support/world.ts';

let url: string;
let proxy: FaultProxy;
let faults: PostgresFaults;
let provider: ScriptedProvider;
let orchestrator: Orchestrator<true>;
/** The store of that orchestrator. */
let asked: Store;

beforeEach(async () => {
  [url, provider] = await Promise.all([freshDatabase(), scriptedProvider()]);
  proxy = await faultProxy({ port: Number(new URL(url).port) });
  faults = postgresFaults(proxy);
});

afterEach(async () => {
  await orchestrator.stop({ within: '2s' });
  await Promise.all([proxy.close(), provider.close()]);
});

const approved = signal('approved', { payload: typed<{ by: string }>() });

function shop() {
  const charge = quickCharge(provider.url);
  const standing = { compensate: { none: 'the test leaves it as it is' } } as const;
  const twice = saga('charged-twice', { input: typed<Payment>(), key: ({ input }) => input.orderId })
    .step('deposit', charge, ({ input }) => input, standing)
    .step('rest', charge, ({ input }) => input, standing);
  const tillOpened = saga('till-opened', {
    input: typed<Payment>(),
    key: ({ input }) => input.orderId,
    lock: () => ['till-1'],
  })
    .waitFor('approval', approved, { within: '1h', otherwise: 'compensate' })
    .step('deposit', charge, ({ input }) => input, standing);
  const store = postgresStore({ url: proxy.urlFor(url), migrate: true, deadlineMs: 3_000 });
  asked = store;
  orchestrator = createOrchestrator({
    ...{ store, definitions: [charge, twice, tillOpened], tenant: 'shop-1', sweepEvery: '100ms' },
    // While the tenant has as much under way as it may, what is due is claimed in turn.
    ...{ heartbeat: { every: '200ms', timeout: '2s' }, perTenant: { concurrency: 1 } },
  });
  return { charge, twice, tillOpened, store };
}

/** Asks again until the store has an answer: what a caller does, and what every error of the store's permits. */
async function answered<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  return until(
    () =>
      ask().catch((error: unknown) => {
        if (isSagacityError(error) && error.retryable) return null;
        throw error;
      }),
    'the store to answer',
  );
}

const payment = { orderId: 'order-17', amount: 1200 };

type Statement = (typeof statementNames)[number];

const isOfSagas = (name: Statement) => name.includes('saga');

/** Those that only a saga brings about that is waited for, and spoken to. */
const ofWaiting = ['signal', 'read-signal', 'held-locks'] as const satisfies readonly Statement[];

const isOfWaiting = (name: Statement) => ofWaiting.some((each) => each === name);

/** Those that only happen while something is under way when it is swept. */
const isWhileUnderWay = (name: Statement) => name.endsWith('in-turn');

async function slowFor(name: Statement): Promise<void> {
  if (isWhileUnderWay(name)) await provider.faults(['slow(600)', 'slow(600)']);
}

/**
 * How often it was started, and whether it is known what became of that: of an attempt under way when its worker is over,
 * as evidence or by a look-up.
 */
function told(kinds: readonly unknown[]) {
  return {
    starts: kinds.filter((kind) => kind === 'start').length,
    isSettled: kinds.some((kind) => kind === 'end' || kind === 'evidence' || kind === 'lookup'),
  };
}

const toldOnce = { starts: 1, isSettled: true } as const;

/** What makes those statements happen that a charge and its orchestrator do not need by themselves. */
const provoked: Partial<Record<Statement, (run: Run<unknown, string>) => Promise<unknown>>> = {
  'claim-one': cancelled,
  'hand-over': cancelled,
  records: (run) => run.history(),
  doubts: () => orchestrator.operator.doubts(),
  retire: () => orchestrator.stop({ within: '2s' }),
  'settled-between': startedAfterFailover,
};

const provokedOfSagas: Partial<Record<Statement, (run: SagaRun) => Promise<unknown>>> = {
  'claim-saga': cancelled,
  'escalated-sagas': () => orchestrator.operator.escalatedSagas(),
  'saga-versions': () => orchestrator.operator.versions(),
  'sagas-in-flight': () => inFlight(),
  'read-saga': (run) => run.status(),
  'saga-records': (run) => run.history(),
};

function cancelled(run: Pick<Run, 'id'>): Promise<unknown> {
  return orchestrator.cancel(run.id, { by: 'shop', reason: 'ordered twice', within: '1s' });
}

/** Asked of the store itself: an orchestrator asks it only to move sagas on to another version. */
function inFlight(): Promise<unknown> {
  return asked.sagasInFlight({ name: 'charged-twice', version: 1, tenant: 'shop-1', limit: 1, after: null });
}

/** Another process, on a database that has been on another timeline before. */
async function startedAfterFailover(): Promise<void> {
  const database = databaseAt(url);
  await database`insert into sagacity.timeline (id, seen_at) values ('before', now() - interval '1 day')`;
  await database.end();
  await orchestrator.stop({ within: '2s' });
  shop();
  await answered(() => orchestrator.start());
}

describe.each(statementNames.filter((name) => !isOfSagas(name) && !isOfWaiting(name)))('the statement %s', (name) => {
  test.each(['request', 'reply'] as const)('whose %s is lost adds no effect and loses nothing', async (lose) => {
    const { charge } = shop();
    await slowFor(name);
    const matching = new RegExp(`sagacity ${name} `);
    const enlisting = name === 'enlist' ? faults.add({ matching, lose }) : null;
    await answered(() => orchestrator.start());
    const { struck } = enlisting ?? faults.add({ matching, lose });

    const run = await answered(() => orchestrator.submit(charge, payment));
    await answered(() => orchestrator.submit(charge, payment));
    await answered(() => reached(run, 'succeeded'));
    await answered(async () => (await provoked[name]?.(run)) ?? 'done');
    await struck;

    const database = databaseAt(url);
    const [row] = await database`select state from sagacity.operation`;
    const history = await database`select kind from sagacity.attempt`;
    await database.end();
    expect(await provider.records({ kind: 'payment' })).toHaveLength(1);
    expect(row?.['state']).toBe('succeeded');
    expect(told(history.map(({ kind }) => kind as unknown))).toEqual(toldOnce);
  });
});

describe.each(statementNames.filter(isOfSagas))('the statement %s of a saga', (name) => {
  test.each(['request', 'reply'] as const)('whose %s is lost adds no effect and loses nothing', async (lose) => {
    const { twice } = shop();
    await slowFor(name);
    await answered(() => orchestrator.start());
    const { struck } = faults.add({ matching: new RegExp(`sagacity ${name} `), lose });

    const run = await answered(() => orchestrator.submit(twice, payment));
    await answered(() => orchestrator.submit(twice, payment));
    await answered(() => sagaReached(run, 'succeeded'));
    await answered(async () => (await provokedOfSagas[name]?.(run)) ?? 'done');
    await struck;

    const database = databaseAt(url);
    const [row] = await database`select state from sagacity.saga`;
    const histories = await database`
      select array_agg(kind::text) as kinds from sagacity.attempt group by subject having bool_or(kind = 'start')`;
    await database.end();
    expect(await provider.records({ kind: 'payment' })).toHaveLength(2);
    expect(row?.['state']).toBe('succeeded');
    expect(histories.map(({ kinds }) => told(kinds as unknown[]))).toEqual([toldOnce, toldOnce]);
  });
});

describe.each(ofWaiting)('the statement %s', (name) => {
  test.each(['request', 'reply'] as const)('whose %s is lost adds no effect and loses nothing', async (lose) => {
    const { tillOpened } = shop();
    await answered(() => orchestrator.start());
    const { struck } = faults.add({ matching: new RegExp(`sagacity ${name} `), lose });

    const run = await answered(() => orchestrator.submit(tillOpened, payment));
    const other = await answered(() =>
      orchestrator.submit(tillOpened, { ...payment, orderId: 'order-18' }).catch(refusal),
    );
    await answered(() => orchestrator.signal(run.id, approved, { by: 'shift-lead' }, { eventId: 'click-81' }));
    await answered(() => sagaReached(run, 'succeeded'));
    const became = await answered(() => orchestrator.signalStatus(run.id, { signal: approved, eventId: 'click-81' }));
    await struck;

    const database = databaseAt(url);
    const sagas = await database`select key, state from sagacity.saga`;
    const signals = await database`select event_id, state from sagacity.signal`;
    const left = await database`select id from sagacity.handover union all select resource from sagacity.lock`;
    await database.end();
    expect(await provider.records({ kind: 'payment' })).toHaveLength(1);
    expect([other, became]).toEqual(['RESOURCE_LOCKED', { status: 'applied' }]);
    expect([...sagas]).toEqual([{ key: 'order-17', state: 'succeeded' }]);
    expect([...signals]).toEqual([{ event_id: 'click-81', state: 'applied' }]);
    expect([...left]).toEqual([]);
  });
});

/** The code of what no repetition would change. */
function refusal(error: unknown): string {
  if (isSagacityError(error) && !error.retryable) return error.code;
  throw error;
}

describe('a turn whose fate nobody told', () => {
  test.each([
    ['request', 'written by the repetition'],
    ['reply', 'found in the row, and not written again'],
  ] as const)('(the %s lost) is %s', async (lose, _) => {
    const { store } = shop();
    await store.open();
    const database = databaseAt(url);
    const turn = birthOf('order-18');
    const fault = faults.add({ matching: /sagacity turn /, lose });

    const first = await store.turn(turn).catch((error: unknown) => error);
    await fault.struck;
    const before = await database`select count(*)::int as rows from sagacity.operation`;
    const committed = await commit(store, systemClock(), turn, () => false);

    const after = await database`select count(*)::int as rows, max(revision)::int as revision from sagacity.operation`;
    const history = await database`select count(*)::int as rows from sagacity.attempt`;
    await database.end();
    await store.close();
    expect(isSagacityError(first, 'STORE_IN_DOUBT')).toBe(true);
    expect(before[0]).toEqual({ rows: lose === 'reply' ? 1 : 0 });
    expect(committed).toMatchObject({ type: 'written', receipt: { revision: 1 } });
    expect(after[0]).toEqual({ rows: 1, revision: 1 });
    expect(history[0]).toEqual({ rows: 1 });
  });
});

function birthOf(key: string): Turn {
  return {
    ...{ tenant: 'shop-1', id: `id-${key}`, turn: `turn-${key}`, was: null, owner: null, generation: 0 },
    birth: { tenant: 'shop-1', action: 'card.charge', key, providerKey: key, fingerprint: 'f', input: {} },
    ...{ state: 'pending', dueInMs: null, reason: null, contradicted: false, output: null, start: null },
    ...{ format: 1, snapshot: {} },
    ...{ records: [{ kind: 'start', attempt: 1, body: {} }], takes: [] },
  };
}
