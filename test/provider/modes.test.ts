/**
 * Every mode the provider can be told, seen from outside over HTTP. Time is moved by hand, and what happens later
 * is awaited through the provider's own log.
 */

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { scriptedProvider } from '../../src/testing/provider/index.ts';
import type { CallModeName, ProviderClock, ScriptedProvider } from '../../src/testing/provider/index.ts';
import { breakOf, get, post } from './http-call.ts';

interface HandClock extends ProviderClock {
  advance(ms: number): void;
  /** Resolves when the next timer is set. */
  armed(): Promise<void>;
}

function handClock(): HandClock {
  let now = 0;
  let timers: { at: number; fire: () => void }[] = [];
  const watching: (() => void)[] = [];
  return {
    now: () => now,
    setTimer(ms, fire) {
      timers.push({ at: now + ms, fire });
      for (const tell of watching.splice(0)) tell();
    },
    armed: () => new Promise((resolve) => watching.push(resolve)),
    advance(ms) {
      now += ms;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { fire } of due) fire();
    },
  };
}

const order = { orderId: 'order-1', amount: 10 };
const lookUp = (key: string) => get(provider.url, `/payments/by-idempotency-key/${encodeURIComponent(key)}`);
const pay = (key: string | undefined, body: unknown = order) => post(provider.url, '/payments', key, body);
const effects = async (key: string) => (await provider.records({ kind: 'payment', key })).length;

let clock: HandClock;
let provider: ScriptedProvider;

beforeEach(async () => {
  clock = handClock();
  provider = await scriptedProvider({ clock });
});

afterEach(() => provider.close());

describe('a payment under an idempotency key', () => {
  test('is refused without a key', async () => {
    const reply = await pay(undefined);

    expect(reply).toMatchObject({ status: 400, body: { error: 'idempotency_key_required' } });
    expect(await provider.records()).toEqual([]);
  });

  test('is made once and then answered from its record, whatever the order of the fields', async () => {
    const first = await pay('k');
    const second = await pay('k', { amount: 10, orderId: 'order-1' });

    expect(first).toMatchObject({
      status: 201,
      replayed: false,
      body: { id: 'payment_1', kind: 'payment', key: 'k', ...order },
    });
    expect(second).toMatchObject({ status: 200, replayed: true, body: first.body });
    expect(await provider.records()).toEqual([
      { kind: 'payment', key: 'k', id: 'payment_1', orderId: 'order-1', n: 1 },
    ]);
  });

  test('is refused with another payload', async () => {
    await pay('k');

    const changed = await pay('k', { ...order, amount: 11 });

    expect(changed).toMatchObject({ status: 422, body: { error: 'idempotency_key_reused_with_different_payload' } });
    expect(await effects('k')).toBe(1);
  });

  test('shares its key with no other kind', async () => {
    await pay('k');

    const refund = await post(provider.url, '/refunds', 'k', { orderId: 'order-2' });

    expect(refund).toMatchObject({ status: 201, body: { id: 'refund_1', kind: 'refund' } });
    expect(await get(provider.url, '/voids/by-idempotency-key/k')).toMatchObject({ status: 404 });
    expect(await get(provider.url, '/refunds/by-idempotency-key/k')).toMatchObject({
      status: 200,
      body: { id: 'refund_1' },
    });
  });

  test('keeps prototype names as data and its own fields as its own', async () => {
    const written = '{"orderId":"order-1","id":"mine","__proto__":{"admin":true},"constructor":1}';

    const made = await pay('k', written);
    const again = await pay('k', '{"constructor":1,"__proto__":{"admin":true},"id":"mine","orderId":"order-1"}');
    const changed = await pay('k', '{"orderId":"order-1","id":"mine","__proto__":{"admin":false},"constructor":1}');

    expect(made.text).toContain('"__proto__":{"admin":true}');
    expect(made.body['id']).toBe('payment_1');
    expect([made.status, again.status, changed.status]).toEqual([201, 200, 422]);
  });

  test('is found by keys that need encoding', async () => {
    await pay('order/17?a=b %+');

    const found = await lookUp('order/17?a=b %+');

    expect(found).toMatchObject({ status: 200, body: { key: 'order/17?a=b %+' } });
  });
});

describe('a body the provider cannot use', () => {
  test.each(['{"orderId":', '', `{"deep":${'['.repeat(50_000)}${']'.repeat(50_000)}}`])(
    'is refused as invalid JSON',
    async (text) => {
      const reply = await pay('k', text);

      expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_json' } });
      expect(await effects('k')).toBe(0);
    },
  );

  test('is refused when it is no object', async () => {
    expect(await pay('k', '[1]')).toMatchObject({ status: 400, body: { error: 'body_must_be_an_object' } });
  });

  test('is refused above one megabyte and accepted just below', async () => {
    const tooLarge = await pay('k', { filler: 'x'.repeat(1_048_576) });
    const large = await pay('k', { filler: 'x'.repeat(1_048_000) });

    expect(tooLarge).toMatchObject({ status: 413, body: { error: 'body_too_large' } });
    expect(large.status).toBe(201);
  });
});

describe('a path that ignores keys', () => {
  test('makes a record every time and is read by reference only', async () => {
    await post(provider.url, '/keyless/shipments', 'k', order);
    await post(provider.url, '/keyless/shipments', 'k', order);
    await post(provider.url, '/keyless/shipments', undefined, { orderId: 'order-2' });

    const byReference = await get(provider.url, '/keyless/shipments?reference=order-1');

    expect(byReference.body).toMatchObject({ count: 2, records: [{ id: 'shipment_1' }, { id: 'shipment_2' }] });
    expect((await provider.records({ kind: 'shipment' })).map(({ key }) => key)).toEqual(['k', 'k', null]);
    expect(await get(provider.url, '/keyless/shipments/by-idempotency-key/k')).toMatchObject({ status: 404 });
    expect(await get(provider.url, '/shipments/by-idempotency-key/k')).toMatchObject({ status: 404 });
    expect(await get(provider.url, '/keyless/shipments')).toMatchObject({ status: 400 });
  });

  test('takes a fault for every record, since none is a replay', async () => {
    await provider.faults(['do+drop', 'drop']);

    await expect(post(provider.url, '/keyless/emails', undefined, order)).rejects.toThrow('fetch failed');
    await expect(post(provider.url, '/keyless/emails', undefined, order)).rejects.toThrow('fetch failed');

    expect(await provider.records({ kind: 'email' })).toHaveLength(1);
  });
});

describe('a mode that only spoils the reply', () => {
  test.each([
    ['fail-before-commit', 503, 0],
    ['commit-then-error', 503, 1],
    ['do+500', 500, 1],
    ['decline', 402, 0],
    ['busy409', 409, 0],
  ] as const)('%s answers %i and leaves %i records; the retry makes one in all', async (mode, status, left) => {
    await provider.faults([mode]);

    const spoilt = await pay('k');
    const leftBehind = await effects('k');
    const retry = await pay('k');

    expect(spoilt.status).toBe(status);
    expect(leftBehind).toBe(left);
    expect(retry.status).toBe(left === 0 ? 201 : 200);
    expect(await effects('k')).toBe(1);
  });

  test.each([
    ['commit-then-drop', 1],
    ['do+drop', 1],
    ['drop', 0],
  ] as const)('%s breaks the connection and leaves %i records', async (mode, left) => {
    await provider.faults([mode]);

    await expect(pay('k')).rejects.toThrow('fetch failed');

    expect(await effects('k')).toBe(left);
    expect((await lookUp('k')).status).toBe(left === 0 ? 404 : 200);
    expect((await provider.received({ key: 'k' }))[0]).toMatchObject({ method: 'POST', fault: mode, status: null });
  });

  test('garbage answers 201 with a body that does not parse', async () => {
    await provider.faults(['garbage']);

    const reply = await pay('k');

    expect(reply.status).toBe(201);
    expect(() => JSON.parse(reply.text)).toThrow(SyntaxError);
    expect(await effects('k')).toBe(1);
  });

  test('decline says why in the words of a card company', async () => {
    await provider.calls(['decline']);

    expect((await pay('k')).body).toEqual({ error: 'declined', code: 'card_declined' });
  });
});

describe('a reply that is held', () => {
  test('keeps its key in flight, and is the honest answer once released', async () => {
    await provider.faults(['commit-then-hold']);

    const held = pay('k');
    const line = await provider.logged(({ event, key }) => event === 'HOLD' && key === 'k');
    const meanwhile = await pay('k');
    const seen = await lookUp('k');
    const released = await provider.release({ key: 'k' });

    expect(line.id).toBe('payment_1');
    expect(meanwhile).toMatchObject({ status: 409, body: { error: 'idempotency_key_in_flight' } });
    expect(seen.status).toBe(200);
    expect(released).toBe(1);
    expect(await held).toMatchObject({ status: 201, body: { id: 'payment_1' } });
    expect(await pay('k')).toMatchObject({ status: 200, replayed: true });
  });

  test('frees its key when the client goes away', async () => {
    await provider.faults(['commit-then-hold']);
    const client = new AbortController();
    const headers = { 'idempotency-key': 'k' };
    const body = JSON.stringify(order);
    const held = fetch(`${provider.url}/payments`, { method: 'POST', headers, body, signal: client.signal });
    const broken = breakOf(held);
    await provider.logged(({ event }) => event === 'HOLD');

    client.abort();
    expect(await broken).toMatch('aborted');
    await provider.logged(({ event }) => event === 'GONE');

    expect(await pay('k')).toMatchObject({ status: 200, replayed: true });
    expect(await provider.release()).toBe(0);
    expect(await effects('k')).toBe(1);
  });
});

describe('a slow provider', () => {
  test('does the work at the end of its time, and is busy with the key until then', async () => {
    await provider.calls(['slow(300)']);

    const slow = pay('k');
    await provider.logged(({ event }) => event === 'NEW');
    const meanwhile = await pay('k');
    const tooEarly = await lookUp('k');
    clock.advance(300);

    expect(meanwhile.status).toBe(409);
    expect(tooEarly.status).toBe(404);
    expect((await slow).status).toBe(201);
    expect(await effects('k')).toBe(1);
  });

  test('does the work although the client gave up', async () => {
    await provider.calls(['slow(300)']);
    const client = new AbortController();
    const headers = { 'idempotency-key': 'k' };
    const body = JSON.stringify(order);
    const slow = fetch(`${provider.url}/payments`, { method: 'POST', headers, body, signal: client.signal });
    const broken = breakOf(slow);
    await provider.logged(({ event }) => event === 'NEW');

    client.abort();
    expect(await broken).toMatch('aborted');
    clock.advance(300);

    expect((await lookUp('k')).status).toBe(200);
    expect(await pay('k')).toMatchObject({ status: 200, replayed: true });
  });
});

describe('a request that arrives late', () => {
  test('takes effect after its reply was lost', async () => {
    await provider.calls(['late(500)']);

    await expect(pay('k')).rejects.toThrow('fetch failed');
    const before = await effects('k');
    clock.advance(499);
    const stillBefore = await effects('k');
    clock.advance(1);
    await provider.logged(({ event, key }) => event === 'ARRIVED' && key === 'k');

    expect([before, stillBefore, await effects('k')]).toEqual([0, 0, 1]);
  });

  test('makes no second record when its key was used meanwhile', async () => {
    await provider.calls(['late(500)']);

    await expect(pay('k')).rejects.toThrow('fetch failed');
    const resent = await pay('k');
    clock.advance(500);
    await provider.logged(({ event, n }) => event === 'REPLAY' && n === 1);

    expect(resent.status).toBe(201);
    expect(await effects('k')).toBe(1);
  });

  test('never takes effect after a reset', async () => {
    await provider.calls(['late(500)']);
    await expect(pay('k')).rejects.toThrow('fetch failed');

    await provider.reset();
    clock.advance(500);

    expect((await lookUp('k')).status).toBe(404);
    expect(await provider.records()).toEqual([]);
  });
});

describe('a provider that breaks its promise', () => {
  test('forgets a key after its time and keeps the record', async () => {
    await provider.faults(['forget(1000)']);
    await pay('k');

    clock.advance(999);
    const inside = await pay('k');
    clock.advance(1);
    const seen = await lookUp('k');
    const after = await pay('k');

    expect(inside).toMatchObject({ status: 200, replayed: true });
    expect(seen.status).toBe(200);
    expect(after).toMatchObject({ status: 201, body: { id: 'payment_2' } });
    expect(await effects('k')).toBe(2);
  });

  test('lies about a known key by doing it again', async () => {
    await provider.calls(['do+drop', 'lie']);

    await expect(pay('k')).rejects.toThrow('fetch failed');
    const second = await pay('k');

    expect(second).toMatchObject({ status: 201, replayed: false, body: { id: 'payment_2' } });
    expect((await lookUp('k')).body).toMatchObject({ id: 'payment_1', others: [{ id: 'payment_2' }] });
    expect(await effects('k')).toBe(2);
  });

  test('lies about a new key by doing it twice at once', async () => {
    await provider.faults(['lie', 'lie+drop']);

    const told = await pay('k');
    await expect(pay('l')).rejects.toThrow('fetch failed');

    expect(told).toMatchObject({ status: 201, body: { id: 'payment_1' } });
    expect([await effects('k'), await effects('l')]).toEqual([2, 2]);
  });
});

describe('a look-up', () => {
  test('does not see a record before its time', async () => {
    await provider.faults(['lagLookup(200)']);
    await pay('k');

    const early = await lookUp('k');
    clock.advance(200);
    const later = await lookUp('k');

    expect([early.status, later.status]).toEqual([404, 200]);
    expect((await provider.received({ key: 'k' })).map(({ status }) => status)).toEqual([201, 404, 200]);
  });

  test('takes one told mode each, in order', async () => {
    await pay('k');
    await provider.lookups(['lookup500', 'lag', 'garbage', 'drop', 'ok']);

    const broken = await lookUp('k');
    const lagging = await lookUp('k');
    const spoilt = await lookUp('k');
    await expect(lookUp('k')).rejects.toThrow('fetch failed');
    const honest = await lookUp('k');

    expect([broken.status, lagging.status, spoilt.status, honest.status]).toEqual([500, 404, 200, 200]);
    expect(() => JSON.parse(spoilt.text)).toThrow(SyntaxError);
  });

  test('stays broken for the time it was told, and is whole again when all is quiet', async () => {
    await pay('k');
    await provider.lookups(['lookup500(1000)', 'lookup500(1000)']);

    const statuses = [(await lookUp('k')).status, (await lookUp('k')).status];
    clock.advance(1000);
    statuses.push((await lookUp('k')).status);
    await provider.quiet();
    statuses.push((await lookUp('k')).status);

    expect(statuses).toEqual([500, 500, 500, 200]);
  });

  test('can be slow', async () => {
    await pay('k');
    await provider.lookups(['slow(50)']);

    const armed = clock.armed();
    const slow = lookUp('k');
    await armed;
    clock.advance(50);

    expect((await slow).status).toBe(200);
  });

  test('breaks after a call that was told so', async () => {
    await provider.calls(['lookup500']);

    const made = await pay('k');

    expect(made.status).toBe(201);
    expect([(await lookUp('k')).status, (await lookUp('k')).status]).toEqual([500, 200]);
  });
});

describe('the queues', () => {
  test('give faults to new operations only, and to the kind they were written for', async () => {
    await provider.faults(['decline'], 'refund');
    await provider.faults(['fail-before-commit']);
    await provider.calls(['ok']);

    const called = await pay('a');
    const replayed = await pay('a');
    const faulted = await pay('b');
    const refunded = await post(provider.url, '/refunds', 'a', order);

    expect([called.status, replayed.status, faulted.status, refunded.status]).toEqual([201, 200, 503, 402]);
  });

  test('give calls to every POST, replays included', async () => {
    await provider.calls(['do+drop', 'decline', 'fail-before-commit', { mode: 'commit-then-error' }, 'ok']);

    await expect(pay('k')).rejects.toThrow('fetch failed');
    const statuses = [await pay('k'), await pay('k'), await pay('k'), await pay('k')].map(({ status }) => status);

    expect(statuses).toEqual([402, 503, 503, 200]);
    expect(await effects('k')).toBe(1);
  });

  test('refuse a list with an unknown mode, and take nothing from it', async () => {
    const refused = await post(provider.url, '/_test/faults', undefined, { faults: ['decline', 'comit-then-drop'] });
    const made = await pay('k');

    expect(refused.status).toBe(400);
    expect(refused.body['message']).toMatch(
      /"comit-then-drop".*Did you mean "commit-then-drop"\?.*Modes: ok, .*garbage/,
    );
    expect(made.status).toBe(201);
  });

  test.each([
    [{ calls: ['drop(5)'] }, 'takes no milliseconds'],
    [{ calls: ['slow(-1)'] }, 'whole milliseconds'],
    [{ calls: [{ mode: 'slow', ms: 2_147_483_648 }] }, 'whole milliseconds'],
    [{ calls: ['toString'] }, 'Unknown mode "toString"'],
    [{ calls: [7] }, 'not 7'],
    [{ calls: 'slow' }, 'Expected a list'],
    [{ calls: ['ok'], kind: 'parcel' }, 'Unknown kind "parcel"'],
  ])('refuse %j and say what is wrong', async (script, words) => {
    const refused = await post(provider.url, '/_test/calls', undefined, script);

    expect(refused.status).toBe(400);
    expect(refused.body['message']).toContain(words);
  });

  test('accept every mode there is, from the library with its types', async () => {
    const modes: CallModeName[] = ['ok', 'late', 'forget', 'lagLookup', 'lookup500', 'slow', 'lie'];

    await provider.calls([...modes, 'slow(0)', { mode: 'late', ms: 5 }]);

    await expect(provider.faults(['decline'], 'parcel')).rejects.toThrow('Unknown kind "parcel"');
  });
});

describe('the proof', () => {
  test('lists what was received, replies lost or not, and nothing of the test itself', async () => {
    await provider.calls(['drop']);

    await expect(pay('k')).rejects.toThrow('fetch failed');
    await pay('k');
    await lookUp('k');
    await get(provider.url, '/nowhere');

    expect(await provider.received()).toEqual([
      { n: 1, method: 'POST', path: '/payments', key: 'k', kind: 'payment', fault: 'drop', status: null },
      { n: 2, method: 'POST', path: '/payments', key: 'k', kind: 'payment', fault: null, status: 201 },
      {
        n: 3,
        method: 'GET',
        path: '/payments/by-idempotency-key/k',
        key: 'k',
        kind: 'payment',
        fault: null,
        status: 200,
      },
      { n: 4, method: 'GET', path: '/nowhere', key: null, kind: null, fault: null, status: 404 },
    ]);
  });

  test('answers 404 on any other path', async () => {
    const paths = [
      '/',
      '/_test/nowhere',
      '/_test/toString',
      '/__proto__',
      '/jobs',
      '/jobs/1',
      '/keyless',
      '/jobs/by-idempotency-key/%',
    ];

    const statuses = await Promise.all(paths.map(async (path) => (await get(provider.url, path)).status));

    expect(statuses).toEqual(paths.map(() => 404));
  });

  test('is empty after a reset, which cuts off what was in progress', async () => {
    await provider.faults(['commit-then-hold', 'decline']);
    const held = breakOf(pay('k'));
    await provider.logged(({ event }) => event === 'HOLD');

    await provider.reset();

    expect(await held).toBe('fetch failed');
    expect(await provider.records()).toEqual([]);
    expect(await provider.received()).toEqual([]);
    expect(await pay('k')).toMatchObject({ status: 201, body: { id: 'payment_1' } });
  });

  test('ends the wait for an entry when the provider stops', async () => {
    const waiting = breakOf(provider.logged(() => false));

    await provider.close();

    expect(await waiting).toMatch('gave no answer');
  });
});
