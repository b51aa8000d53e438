/**
 * The demo of a whole cluster: worker processes that are killed, a NATS server that loses all it kept, and a PostgreSQL
 * server that is stopped, under orders whose endings are scripted. And what judges it, which has to be hard to please.
 */

import { describe, expect, test, vi } from 'vitest';
import type { Struck } from '../../examples/demo/cluster/blows.ts';
import { type Found, judge } from '../../examples/demo/cluster/judge.ts';
import { type Ending, recordsOf, type Scripted } from '../../examples/demo/cluster/script.ts';
import { blowsMissing } from '../../examples/demo/cluster/summary.ts';
import { inAFolderOfItsOwn } from '../support/left-behind.ts';
import { runExample } from './run-example.ts';

const demo = 'examples/demo/main.ts';
const folder = inAFolderOfItsOwn();

describe('a cluster whose workers are killed while NATS and PostgreSQL come and go', () => {
  test('ends every order as its script says, with the records that it should have', { timeout: 300_000 }, async () => {
    const ran = await runExample(demo, ['--cluster', '--sagas', '20', '--seed', '7', '--json'], 290_000);

    const complaints = ran.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('demo: '));
    expect(complaints).toEqual([]);
    expect(ran.stdout.trimEnd().split('\n')).toHaveLength(1);
    const summary: unknown = JSON.parse(ran.stdout);
    const ended = { succeeded: 14, compensated: 4, escalated: 2 };
    expect(summary).toEqual({
      ...{ summary: 'demo', ok: true, sagas: 20, ...ended, expected: ended, wrongCounts: 0, seed: 7 },
      ...{ kills: some, takeOvers: some, natsRestarts: 1, natsStoreEmptied: true, postgresRestarts: 1, ms: some },
    });
    expect(summary).not.toMatchObject({ kills: 0 });
    expect(summary).not.toMatchObject({ takeOvers: 0 });
    expect(ran.code).toBe(0);
    expect(await folder.leftBehind()).toEqual([]);
  });
});

describe('a cluster that is told to end', () => {
  test('leaves nothing behind, and says that it was interrupted', async () => {
    const ran = await runExample(demo, ['--cluster', '--json'], 15_000);

    expect(ran.code).toBe(143);
    expect(ran.stdout).toBe('');
    expect(await folder.leftBehind()).toEqual([]);
  });
});

describe('a cluster that cannot run', () => {
  test('says which package it needs, prints no result, and leaves nothing', async () => {
    const path = process.env['PATH'];
    vi.stubEnv('PATH', folder.path);
    const ran = await runExample(demo, ['--cluster', '--json']);
    vi.stubEnv('PATH', path);

    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toMatch(/The demo could not run: nats-server was not found .+apt-get install nats-server/);
    expect(await folder.leftBehind()).toEqual([]);
  });

  test.each([
    { flags: ['--cluster', '--sagas', '3'], why: '--sagas is "3"' },
    { flags: ['--cluster', '--seed', 'x'], why: '--seed is "x"' },
    { flags: ['--sagas', '20'], why: '--sagas and --seed go with --cluster' },
  ])('shows its usage for $flags', async ({ flags, why }) => {
    const ran = await runExample(demo, flags);

    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toContain(why);
    expect(ran.stderr).toContain('Usage: npm run demo');
  });
});

describe('orders that ended as they should', () => {
  test('are counted, and nothing is wrong', () => {
    expect(judge(scripts, allRight())).toEqual({
      ...{ ended: oneOfEach, expected: oneOfEach, wrongCounts: 0, complaints: [] },
    });
  });
});

describe('orders of which something is wrong', () => {
  test.each([
    { what: 'a second record of a kind', records: [['order-1', 'capture']], complaint: '2 of capture' },
    { what: 'a record of a kind that it must not have', records: [['order-2', 'capture']], complaint: '1 of capture' },
    { what: 'two of what there may be one of', records: [['order-3', 'invoice']], complaint: '2 of invoice' },
    { what: 'a record that nobody ordered', records: [['order-9', 'job']], complaint: 'records of "order-9"' },
  ])('are wrong by $what', ({ records, complaint }) => {
    const found = allRight();
    const planted = records.map(([orderId = '', kind = '']) => ({ orderId, kind }));

    const { wrongCounts, complaints } = judge(scripts, { ...found, records: [...found.records, ...planted] });

    expect({ wrongCounts, complaints }).toEqual({ wrongCounts: 1, complaints: [expect.stringContaining(complaint)] });
  });

  test('are wrong by a record that is missing', () => {
    const found = allRight();
    const records = found.records.filter(({ orderId, kind }) => !(orderId === 'order-2' && kind === 'void'));

    const { wrongCounts, complaints } = judge(scripts, { ...found, records });

    expect({ wrongCounts, complaints }).toEqual({ wrongCounts: 1, complaints: [expect.stringContaining('0 of void')] });
  });

  test.each(['succeeded', 'in-progress'])('are wrong by another ending than the scripted one: %s', (state) => {
    const found = allRight();

    const { complaints } = judge(scripts, { ...found, states: new Map([...found.states, ['order-2', state]]) });

    expect(complaints).toEqual([`order-2 is ${state} and has to be compensated`]);
  });

  test('are wrong by an order that is not there', () => {
    const found = allRight();
    const states = new Map([...found.states].filter(([orderId]) => orderId !== 'order-1'));

    expect(judge(scripts, { ...found, states }).complaints).toEqual(['order-1 is not there and has to be succeeded']);
  });
});

describe('a cluster on which not every blow has struck', () => {
  const all: Struck = { kills: 1, natsRestarts: 1, natsStoreEmptied: true, postgresRestarts: 1, left: [] };

  test.each([
    { struck: { ...all, kills: 0 }, takeOvers: 1, missing: 'a worker was killed with orders in its hands' },
    { struck: all, takeOvers: 0, missing: 'an order was taken over from a killed worker' },
    { struck: { ...all, natsRestarts: 0 }, takeOvers: 1, missing: 'NATS was restarted' },
    { struck: { ...all, natsStoreEmptied: false }, takeOvers: 1, missing: 'the store of NATS was emptied' },
    { struck: { ...all, postgresRestarts: 0 }, takeOvers: 1, missing: 'PostgreSQL was restarted' },
  ])('has not been tried: $missing', ({ struck, takeOvers, missing }) => {
    expect(blowsMissing(struck, takeOvers)).toEqual([`never came about: ${missing}`]);
  });

  test('has been tried when all have', () => {
    expect(blowsMissing(all, 1)).toEqual([]);
  });
});

const some: unknown = expect.any(Number);

const endingOf: Readonly<Record<string, Ending>> = {
  'order-1': 'succeeded',
  'order-2': 'compensated',
  'order-3': 'escalated',
};

const oneOfEach = { succeeded: 1, compensated: 1, escalated: 1 };

const scripts = Object.entries(endingOf).map(
  ([orderId, ending]): Scripted => ({
    ending,
    order: { orderId, amount: 1200, carrier: 'parcel service', notice: 'e-mail' },
  }),
);

/** Of what there may be one of, there is one. */
function allRight(): Found {
  return {
    states: new Map(Object.entries(endingOf)),
    records: Object.entries(endingOf).flatMap(([orderId, ending]) =>
      Object.keys(recordsOf[ending]).map((kind) => ({ orderId, kind })),
    ),
  };
}
