/**
 * The release before this one wrote format 1, and this one writes format 2. Rows that it really wrote are kept in
 * `test/fixtures`, in both, and what it wrote them with; whoever reads either finds the same.
 */

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Orchestrator, saga, typed } from 'sagacity';
import { FORMAT_WRITTEN, FORMATS_READ } from '../../src/domain/format.ts';
import type { Json } from '../../src/domain/json.ts';
import type { KernelRow } from '../../src/kernel/row.ts';
import type { Member } from '../../src/orchestrator/aggregate.ts';
import { fromStored } from '../../src/orchestrator/row.ts';
import type { RunnableSaga } from '../../src/orchestrator/runnable.ts';
import { type Course, courseOf } from '../../src/orchestrator/saga-course.ts';
import { snapshotOf } from '../../src/orchestrator/snapshot.ts';
import * as current from '../../src/orchestrator/stored.ts';
import type { OperationRow, SagaRow, Store } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import * as before from '../fixtures/format-1.ts';
import { order, type Part, purchase, sagaShop, type SagaShop } from '../support/saga-shop.ts';

type Called<Row> = Row & { readonly called: string };

interface Frozen {
  readonly operations: readonly Called<OperationRow>[];
  readonly sagas: readonly Called<SagaRow>[];
}

function frozen(format: number): Frozen {
  // Written by the release that wrote this format; what is not looked at here was left out.
  return JSON.parse(readFileSync(new URL(`../fixtures/format-${format}.json`, import.meta.url), 'utf8')) as Frozen;
}

const older = frozen(1);
const newer = frozen(2);

/** Of a row, in the other format. */
function other<Row extends { readonly called: string }>(rows: readonly Row[], { called }: Row): Row {
  const found = rows.find((row) => row.called === called);
  if (found === undefined) throw new Error(`No row is called ${called} in format 2.`);
  return found;
}

/** What a chart remembers stays in the snapshot: no definitions are needed to write it again. */
const written = { isChain: false } as RunnableSaga;
const nobody: ReadonlyMap<string, Member> = new Map();

test('this release writes what it reads, and still reads what the one before wrote', () => {
  expect(FORMATS_READ).toContain(FORMAT_WRITTEN);
  expect(FORMATS_READ).toContain(FORMAT_WRITTEN - 1);
});

describe('an operation that the release before has stored', () => {
  test.each(older.operations)('$called, is read as what it is in the format of now', (row) => {
    expect(fromStored(row)).toStrictEqual(fromStored(other(newer.operations, row)));
  });

  test.each(older.operations)('$called, is in the format of now once it is written again', (row) => {
    const { format, snapshot, output } = other(newer.operations, row);

    expect(current.toStored(fromStored(row))).toEqual({ format, snapshot, output });
  });

  test.each(newer.operations)('$called, is as it was once a release that was taken back writes it', (row) => {
    const { format, snapshot, output } = other(older.operations, row);

    expect(before.toStored(fromStored(row))).toEqual({ format, snapshot, output });
  });
});

describe('a saga that the release before has stored', () => {
  test.each(older.sagas)('$called, is read as what it is in the format of now, with its operations', (row) => {
    const now = other(newer.sagas, row);

    expect(courseOf(row)).toStrictEqual(courseOf(now));
    expect(row.operations.map(fromStored)).toStrictEqual(now.operations.map(fromStored));
  });

  test.each(older.sagas)('$called, is in the format of now once it is written again', (row) => {
    const { format, snapshot } = other(newer.sagas, row);

    expect(current.toStoredCourse(courseOf(row), written, nobody)).toEqual({ format, snapshot });
  });

  test.each(newer.sagas)('$called, is as it was once a release that was taken back writes it', (row) => {
    const { format, snapshot } = other(older.sagas, row);

    expect(before.toStoredCourse(courseOf(row), written, nobody)).toEqual({ format, snapshot });
  });
});

describe('a process that cannot go on with what the release before has stored', () => {
  let shop: SagaShop;
  beforeEach(async () => {
    shop = await sagaShop();
  });
  afterEach(() => shop.close());

  test('leaves a saga whose chart has changed in its format, for who has that chart', async () => {
    const { authorise, reserve, pay } = shop.trade;
    const buying = purchase(shop.trade);
    const otherwise = saga('purchase', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('goods', reserve, ({ input }) => input)
      .step('money', authorise, ({ input }) => input)
      .step('payment', pay, ({ input }) => input);
    const run = await (await shop.open([buying], { start: false })).submit(buying, order);
    const row = await shop.store.readSaga(run);
    if (row === null) throw new Error('The saga is there.');
    await shop.store.sagaTurn({
      ...{ tenant: row.tenant, id: row.id, turn: 'by the release before', birth: null, was: row, owner: null },
      ...{ generation: row.generation, state: row.state, reason: null, becomes: null, output: null, timeline: null },
      ...{ records: [], takes: [], signals: [], dues: Object.keys(row.dues).map((name) => ({ name, inMs: null })) },
      ...before.toStoredCourse(courseOf(row), written, nobody),
      operations: row.operations.map(({ id, state }, n) => ({
        ...{ id, birth: null, state, reason: null, contradicted: false, start: null, records: [] },
        ...before.toStored(fromStored(row.operations[n] ?? missing())),
      })),
    });

    const changed = await shop.open([otherwise]);
    await shop.pass('10s');
    const left = await shop.store.readSaga(run);
    await stopped(changed);
    await shop.open([buying]);
    await shop.pass('10s');
    const gone = await shop.store.readSaga(run);

    expect(left).toMatchObject({ format: 1, reason: 'definition-changed', operations: [{ format: 1 }] });
    expect(gone).toMatchObject({ format: 2, state: 'succeeded', operations: [{}, {}, {}] });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation', 'payment']);
  });

  test('gives an operation back in its format, for who can read it', async () => {
    const { pay } = shop.trade;
    const run = await (await shop.open([pay], { start: false })).submit(pay, order);
    const row = (await shop.store.read(run)) ?? missing();
    await shop.store.turn({
      ...{ tenant: row.tenant, id: row.id, turn: 'by the release before', birth: null, was: row, owner: null },
      ...{ generation: row.generation, state: row.state, dueInMs: 0, reason: null, contradicted: false },
      ...{ start: null, records: [], takes: [], ...before.toStored(fromStored(row)) },
    });
    const unreading = overlay(shop.store, {
      async claim(...asked: Parameters<Store['claim']>) {
        const rows = await shop.store.claim(...asked);
        return rows.map((claimed) => ({ ...claimed, input: { $: ['from-the-future', 1] } }));
      },
    });

    const first = await shop.open([pay], { store: unreading });
    await shop.pass('5s');
    const left = await shop.store.read(run);
    await stopped(first);
    await shop.open([pay]);
    await shop.pass('2m');

    expect(left).toMatchObject({ format: 1, owner: null, state: 'pending' });
    expect(await shop.store.read(run)).toMatchObject({ format: 2, state: 'succeeded' });
  });

  async function stopped(orchestrator: Orchestrator<true>): Promise<void> {
    const stopping = orchestrator.stop();
    await shop.pass('2s');
    await stopping;
  }

  function missing(): never {
    throw new Error('The operation is there.');
  }
});

describe('whatever may come to be stored', () => {
  test('of an operation is read as the same in both formats', () => {
    fc.assert(
      fc.property(operations, (row) => {
        const [was, is] = [before.toStored(row), current.toStored(row)];

        expect(is.output).toStrictEqual(was.output);
        expect(snapshotOf(operationIn(is))).toStrictEqual(snapshotOf(operationIn(was)));
      }),
    );
  });

  test('of a saga is read as the same in both formats', () => {
    fc.assert(
      fc.property(courses, (course) => {
        const is = current.toStoredCourse(course, written, nobody);
        const was = before.toStoredCourse(course, written, nobody);

        expect(snapshotOf(sagaIn(is))).toStrictEqual(snapshotOf(sagaIn(was)));
      }),
    );
  });
});

function operationIn(stored: { readonly format: number; readonly snapshot: Json }) {
  return { tenant: 'shop', id: 'op-1', action: 'card.charge', ...stored };
}

function sagaIn(stored: { readonly format: number; readonly snapshot: Json }) {
  return { tenant: 'shop', id: 'sg-1', name: 'order', ...stored };
}

/** What a name or a value may be that somebody else has chosen. */
const names = fc.constantFrom('due', 'pay', 'parcels[0]', '$', '__proto__', 'context', 'children', 'status', '\u0000');
const values = fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, maxDepth: 3 });
const keyed = <Value>(value: fc.Arbitrary<Value>) => fc.dictionary(names, value, { maxKeys: 3 });
const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const few = fc.nat({ max: 3 });
// The type of its own that it gives leaves nothing out.
const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>;

const chart = {
  status: fc.constantFrom('active' as const, 'done' as const),
  children: keyed(fc.record({ src: names, generation: few })),
  timers: keyed(
    fc.record({ event: fc.record({ type: names }), to: orNull(names), generation: few, delayMs: fc.nat() }),
  ),
  generations: keyed(few),
  ids: few,
};

const attempts = fc.array(
  fc.record(
    {
      number: few,
      standing: fc.constantFrom('open', 'unproven', 'effect'),
      code: names,
      reference: names,
      stated: fc.constant(true),
    },
    { requiredKeys: ['number', 'standing'] },
  ),
  { maxLength: 3 },
);

const history = fc.record({
  ...{ attempts, grants: few, refusedSends: few, lookups: few, cancelled: fc.boolean() },
  ...{ found: fc.array(orNull(names), { maxLength: 2 }), severalFound: fc.boolean() },
  // Encoded when its attempt ended.
  result: orNull(fc.record({ output: json, reference: orNull(names) })),
});

const ms = fc.constantFrom(0, 1_000, 5_000, 30_000, 86_400_000, 259_200_000);

const policy = fc.record({
  ...{
    contract: orNull(fc.record({ name: names, version: few })),
    keyRetentionMs: orNull(ms),
    timeoutMs: ms,
    sendWithinMs: ms,
    inverse: fc.boolean(),
  },
  lookup: orNull(fc.record({ visibleWithinMs: ms, arrivalLimitMs: orNull(ms), everyMs: ms, giveUpAfterMs: ms })),
  retry: fc.record({
    ...{ attempts: few, delayMs: ms, maxDelayMs: ms },
    backoff: fc.constantFrom('fixed', 'exponential'),
    jitter: fc.constantFrom('full', 'none'),
  }),
});

const operations: fc.Arbitrary<KernelRow> = fc.record({
  ...chart,
  value: fc.constantFrom('pending', 'succeeded', 'escalated'),
  context: fc.record({
    ...{ policy, history, facts: fc.constant({ now: 0 }), code: orNull(names), reason: orNull(names) },
    escalatedFrom: fc.constantFrom('operation', 'compensation'),
    ...{ inverseCode: orNull(names), joined: fc.array(names, { maxLength: 2 }) },
    ...{ verified: orNull(fc.record({ on: names, changedAt: ms })), retryOf: orNull(names) },
  }),
});

const child = fc.record({
  ...{
    name: names,
    key: names,
    input: json,
    state: orNull(fc.constant('succeeded' as const)),
  },
  ...{
    reason: orNull(fc.constant('limit' as const)),
    code: orNull(names),
    output: orNull(fc.constant({ value: null })),
  },
  word: orNull(fc.record({ kind: fc.constant('cancel' as const), n: few, isHeard: fc.boolean() })),
  ...{ inverse: orNull(fc.constant('refused' as const)), takenBackAs: orNull(few) },
});

const entry = fc.record({
  ...{ id: names, step: names, actor: orNull(fc.record({ id: names, generation: few })), undoes: orNull(names) },
  ...{ isLeft: fc.boolean(), isTold: fc.boolean(), compensationBegun: fc.boolean(), isCarried: fc.boolean() },
  ...{ shared: orNull(fc.record({ fingerprint: names })), endOfJoined: orNull(fc.constant('failed' as const)) },
  ...{ settledAs: orNull(few), child: orNull(child) },
});

const courses: fc.Arbitrary<Course> = fc.record({
  chart: fc.record(
    {
      ...chart,
      value: fc.oneof(names, keyed(names)),
      context: values,
      history: keyed(fc.array(names)),
      output: values,
    },
    { requiredKeys: ['status', 'children', 'timers', 'generations', 'ids', 'value', 'context'] },
  ),
  entries: fc.array(entry, { maxLength: 3 }),
  compensation: orNull(
    fc.record({
      ...{ cause: fc.record({ step: orNull(names), code: names }), actor: fc.constant(null) },
      ...{ isPartial: fc.boolean(), isDone: fc.boolean() },
    }),
  ),
  ...{ asked: orNull(fc.constant('cancelled' as const)), isTerminated: fc.boolean(), isFrozen: fc.boolean() },
  fault: orNull(
    fc.record({ message: names, times: few, timer: orNull(names), reason: fc.constant('definition-fault' as const) }),
  ),
  ...{ heldBy: fc.array(names, { maxLength: 2 }), moves: few },
  kept: fc.array(
    fc.record({ name: names, eventId: names, event: fc.record({ type: names, payload: values }), expiresAt: ms }),
    { maxLength: 2 },
  ),
  parent: orNull(fc.record({ id: names, step: names, heard: few })),
});
