/** One dispatch on a wire that works: what an arrival holds, what the gate is asked, and what is left behind. */

import { createHash } from 'node:crypto';
import { getEventListeners, once } from 'node:events';
import { Agent } from 'undici';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ownOptions } from '../../src/providers/dispatchers.ts';
import { charge, countingClock } from './departing.ts';
import { type Call, type Conduct, committed, wireProvider } from './wire-provider.ts';

let agent: Agent;
const closing: (() => Promise<void>)[] = [];

beforeEach(() => {
  agent = new Agent({ ...ownOptions, connections: 1 });
});
afterEach(async () => {
  await agent.destroy();
  for (const close of closing.splice(0)) await close();
});

async function provider(conduct: Conduct = committed) {
  const running = await wireProvider(conduct);
  closing.push(running.close);
  return { ...running, url: `http://127.0.0.1:${running.port}/charges` };
}

describe('a charge that the provider carries out', () => {
  test('arrives with its status, its headers, its body and the digest of the body', async () => {
    const reply = '{"id":"pay_1"}';
    const { url, effects } = await provider({
      request({ commit, socket }) {
        commit();
        socket.write(
          `HTTP/1.1 201 Created\r\nX-Id: pay_1\r\nWarning: a\r\nWARNING: b\r\ncontent-length: 14\r\n\r\n${reply}`,
        );
      },
    });

    const arrival = await charge(agent, { url });

    expect(arrival).toMatchObject({
      gate: 'opened',
      status: 201,
      headers: { 'x-id': 'pay_1', warning: 'a, b', 'content-length': '14' },
      body: { type: 'whole', bytes: Buffer.from(reply) },
      error: null,
      bodyDigest: createHash('sha256').update(reply).digest('hex'),
      refusedStream: false,
    });
    expect(effects()).toBe(1);
  });

  test('is sent as it was given, and asks for no encoding of the reply', async () => {
    const seen: Call[] = [];
    const { url } = await provider({
      request(call) {
        seen.push(call);
        call.answer(200);
      },
    });
    const body = new Uint8Array(Buffer.from('--[amount=1]--')).subarray(2, 12);

    await charge(agent, { url: `${url}?expand=fee&x=%20`, method: 'PUT', headers: { 'X-Key': 'a' }, body });

    const [call] = seen;
    expect([call?.method, call?.path, String(call?.body)]).toEqual(['PUT', '/charges?expand=fee&x=%20', '[amount=1]']);
    expect(Object.fromEntries(call?.headers ?? [])).toEqual({
      host: new URL(url).host,
      connection: 'keep-alive',
      'x-key': 'a',
      'content-length': '10',
    });
  });

  test('has a whole body of several pieces, and of none', async () => {
    const pieces = ['{"id":', '"pay_1"', '}'];
    const { url } = await provider({
      request({ path, socket, answer }) {
        if (path.endsWith('empty')) return answer(204);
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
        for (const piece of pieces) socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
        socket.write('0\r\n\r\n');
      },
    });

    const some = await charge(agent, { url });
    const none = await charge(agent, { url: `${url}/empty` });

    expect(some).toMatchObject({ body: { type: 'whole', bytes: Buffer.from('{"id":"pay_1"}') } });
    expect(none).toMatchObject({ status: 204, body: { type: 'whole', bytes: new Uint8Array(0) }, bodyDigest: null });
  });

  test('tells whole milliseconds until the gate, the head and the end', async () => {
    const { url } = await provider();

    const { timings } = await charge(agent, { url });

    const { gateMs, headMs, endMs } = timings;
    expect([gateMs, headMs, endMs].every(Number.isInteger)).toBe(true);
    expect(Number(gateMs) <= Number(headMs) && Number(headMs) <= endMs).toBe(true);
  });

  test('leaves no timer and no listener behind', async () => {
    const { url } = await provider();
    const clock = countingClock();
    const { signal } = new AbortController();

    await charge(agent, { url, clock, signal });

    expect(clock.waiting()).toBe(0);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a charge that may not leave', () => {
  test('is asked for at the gate, is not sent, and says why', async () => {
    const { url, effects, connections } = await provider();

    const arrival = await charge(agent, { url, mayLeave: () => 'send-by-passed' });

    expect(arrival).toMatchObject({ gate: 'shut', reason: 'send-by-passed', error: null, timings: { gateMs: null } });
    expect([connections(), effects()]).toEqual([1, 0]);
  });

  test('leaves the connection to the next one', async () => {
    const { url, effects, connections } = await provider();
    await charge(agent, { url, mayLeave: () => 'send-by-passed' });

    const next = await charge(agent, { url });

    expect(next).toMatchObject({ status: 201 });
    expect([connections(), effects()]).toEqual([1, 1]);
  });

  test('is not sent when nobody can say whether it may leave', async () => {
    const { url, effects } = await provider();
    const mayLeave = () => {
      throw new Error('no clock');
    };

    expect(await charge(agent, { url, mayLeave })).toMatchObject({ gate: 'shut', reason: 'not-dispatched' });
    expect(effects()).toBe(0);
  });

  test.each([
    ['its URL is none', { url: 'charges' }],
    ['its URL leads elsewhere', { url: 'ftp://127.0.0.1/charges' }],
    ['a header cannot be sent', { headers: { 'x-key': 'a\r\nb: c' } }],
    ['its method cannot be sent', { method: 'PO ST' }],
    ['its time-out is none', { timeoutMs: Number.NaN }],
  ])('is not sent when %s', async (_, fault) => {
    const { url, connections } = await provider();

    expect(await charge(agent, { url, ...fault })).toMatchObject({ gate: 'shut', reason: 'not-dispatched' });
    expect(connections()).toBe(0);
  });
});

describe('a charge that waits behind another one', () => {
  test('is proven not sent when its time is over, and never leaves afterwards', async () => {
    let hold = (_: Call): void => undefined;
    const held = new Promise<Call>((resolve) => {
      hold = resolve;
    });
    const { url, effects, connections } = await provider({
      request(call) {
        call.commit();
        if (call.place === 1) hold(call);
        else call.answer(201);
      },
    });
    const first = charge(agent, { url, headers: { 'idempotency-key': 'order-1' } });
    const { answer } = await held;

    const second = await charge(agent, { url, headers: { 'idempotency-key': 'order-2' }, timeoutMs: 100 });
    answer(201);
    const third = charge(agent, { url, headers: { 'idempotency-key': 'order-3' } });

    expect(second).toMatchObject({ gate: 'shut', reason: 'timed-out' });
    expect(await first).toMatchObject({ status: 201 });
    expect(await third).toMatchObject({ status: 201 });
    expect([effects('order-2'), effects(), connections()]).toEqual([0, 2, 1]);
  });
});

describe('a charge whose process stood still on the way to the gate', () => {
  test('is not sent when its time is over, although no timer has fired yet', async () => {
    const { url, effects } = await provider();
    const clock = countingClock();
    let at = 0;
    const charged = charge(agent, { url, timeoutMs: 60_000, clock: { ...clock, monotonic: () => at } });
    at = 60_000;

    expect(await charged).toMatchObject({
      gate: 'shut',
      reason: 'timed-out',
      timings: { gateMs: null, endMs: 60_000 },
    });
    expect([clock.waiting(), effects()]).toEqual([0, 0]);
  });
});

describe('a signal', () => {
  test('that is aborted while the gate is asked keeps the charge from leaving', async () => {
    const given = new AbortController();
    const { url, effects } = await provider();
    const mayLeave = () => {
      given.abort();
      return null;
    };

    const arrival = await charge(agent, { url, signal: given.signal, mayLeave });
    await agent.close();

    expect(arrival).toMatchObject({ gate: 'shut', reason: 'aborted' });
    expect(effects()).toBe(0);
  });

  test('that was aborted before keeps the charge from leaving', async () => {
    const { url, connections } = await provider();

    expect(await charge(agent, { url, signal: AbortSignal.abort() })).toMatchObject({
      gate: 'shut',
      reason: 'aborted',
    });
    expect(connections()).toBe(0);
  });

  test('that is aborted after the gate gives the charge up and destroys its connection', async () => {
    const given = new AbortController();
    let closed: Promise<unknown> = Promise.resolve();
    const { url, effects } = await provider({
      request({ commit, socket }) {
        commit();
        closed = once(socket, 'close');
        given.abort();
      },
    });

    const arrival = await charge(agent, { url, signal: given.signal });
    await closed;

    expect(arrival).toMatchObject({ gate: 'opened', status: null, reason: 'aborted', error: null });
    expect(effects()).toBe(1);
  });
});

describe('a charge that wants a connection of its own', () => {
  test('never meets one that was used before, and leaves none', async () => {
    const seen: string[] = [];
    const { url, connections } = await provider({
      request({ place, headers, answer }) {
        seen.push(`${headers.get('connection')}, the request ${place} of its connection`);
        answer(201);
      },
    });

    await charge(agent, { url });
    await charge(agent, { url, freshConnection: true });
    await charge(agent, { url, freshConnection: true });
    await charge(agent, { url });

    expect(seen).toEqual([
      'keep-alive, the request 1 of its connection',
      'close, the request 1 of its connection',
      'close, the request 1 of its connection',
      'keep-alive, the request 2 of its connection',
    ]);
    expect(connections()).toBe(3);
  });
});

describe('a reply that is larger than the cap', () => {
  test.each([true, false])(
    'keeps its status and what fits (on a connection of its own: %s)',
    async (freshConnection) => {
      const { url, effects } = await provider({
        request({ commit, answer }) {
          commit();
          answer(201, 'x'.repeat(50));
        },
      });

      const arrival = await charge(agent, { url, bodyMaxBytes: 10, freshConnection });

      const kept = Buffer.from('x'.repeat(10));
      expect(arrival).toMatchObject({
        status: 201,
        body: { type: 'broken', reason: 'too-large', bytes: kept },
        bodyDigest: createHash('sha256').update(kept).digest('hex'),
      });
      expect(effects()).toBe(1);
    },
  );

  test('is read no further', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const { url } = await provider({
      request({ socket }) {
        closed = once(socket, 'close');
        socket.write(`HTTP/1.1 201 Created\r\ncontent-length: 1000000000\r\n\r\n${'x'.repeat(50)}`);
      },
    });

    const arrival = await charge(agent, { url, bodyMaxBytes: 10 });
    await closed;

    expect(arrival).toMatchObject({ status: 201, body: { type: 'broken', reason: 'too-large' } });
  });

  test('is whole when it is as large as the cap', async () => {
    const { url } = await provider({ request: ({ answer }) => answer(201, 'x'.repeat(10)) });

    expect(await charge(agent, { url, bodyMaxBytes: 10 })).toMatchObject({ body: { type: 'whole' } });
  });
});
