/** The provider as a process: what it prints, what it refuses, what it survives, and what it remembers. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { scriptedProvider, spawnProvider } from '../../src/testing/provider/index.ts';
import { breakOf, get, post } from './http-call.ts';

const order = { orderId: 'order-1' };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'provider-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

async function run(...flags: string[]) {
  const child = command(flags);
  const chunks = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (chunks.out += chunk.toString('utf8')));
  child.stderr.on('data', (chunk: Buffer) => (chunks.err += chunk.toString('utf8')));
  const [code] = await once(child, 'close');
  return { code: Number(code), ...chunks };
}

function command(flags: string[]) {
  return spawn(process.execPath, ['--import', 'tsx', 'src/testing/provider/main.ts', ...flags]);
}

describe('the command', () => {
  test('says where it listens, logs what it does, and stops with exit code 0', async () => {
    const child = command(['--port', '0']);
    const lines: string[] = [];
    const reader = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    await once(reader, 'line');
    const url = lines[0]?.replace('listening on ', '') ?? '';

    await post(url, '/_test/faults', undefined, { faults: ['commit-then-error', 'commit-then-hold'] });
    await post(url, '/jobs', 'k', order);
    await post(url, '/jobs', 'k', order);
    await post(url, '/jobs', 'k', { orderId: 'order-2' });
    await post(url, '/jobs', undefined, order);
    await get(url, '/jobs/by-idempotency-key/k');
    const held = post(url, '/jobs', 'l\tNEW', order).catch(() => 'cut off');
    while (!lines.at(-1)?.startsWith('HOLD')) await once(reader, 'line');
    child.kill('SIGTERM');
    const [code, signal] = await once(child, 'exit');

    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(lines.slice(1, 8)).toEqual([
      'NEW key=k fault=commit-then-error kind=job',
      'REPLAY key=k job=job_1 kind=job',
      'REJECTED key=k status=422 reason=idempotency_key_reused_with_different_payload kind=job',
      'REJECTED key=- status=400 reason=idempotency_key_required kind=job',
      'LOOKUP key=k status=200 kind=job',
      'NEW key="l\\tNEW" fault=commit-then-hold kind=job',
      'HOLD key="l\\tNEW" job=job_2 kind=job',
    ]);
    expect(await held).toBe('cut off');
    expect([code, signal]).toEqual([0, null]);
  });

  test('speaks JSON when asked', async () => {
    const child = command(['--port', '0', '--json']);
    const lines: string[] = [];
    const reader = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    await once(reader, 'line');
    const first = JSON.parse(lines[0] ?? '');

    await post(first.listening, '/emails', 'k', order);
    while (lines.length < 2) await once(reader, 'line');
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');

    expect(first).toEqual({ listening: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/), pid: child.pid });
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ event: 'NEW', key: 'k', kind: 'email', fault: null });
    expect(code).toBe(0);
  });

  test('explains itself', async () => {
    const { code, out } = await run('--help');

    expect(code).toBe(0);
    expect(out).toContain('--ledger FILE');
  });

  test.each([
    [['--prot', '1'], '--prot'],
    [['--port', 'x'], '"x"'],
    [['--host', '0.0.0.0'], '127.0.0.1 only'],
  ])('refuses %j with exit code 2 and says what is wrong', async (flags, words) => {
    const { code, out, err } = await run(...flags);

    expect(code).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(words);
  });
});

describe('a provider in this process', () => {
  test.each(['0.0.0.0', '::', 'localhost', 'example.com'])('refuses to listen on %s', async (host) => {
    await expect(scriptedProvider({ host })).rejects.toThrow('127.0.0.1 only');
  });

  test.each([
    [{ port: 70_000 }, '70000'],
    [{ keyHeader: 'a b' }, '"a b"'],
    [{ ledger: tmpdir() }, 'EISDIR'],
  ])('refuses %j and says what is wrong', async (options, words) => {
    await expect(scriptedProvider(options)).rejects.toThrow(words);
  });

  test('reads the key from the header it was told', async () => {
    const provider = await scriptedProvider({ keyHeader: 'X-Request-Key' });

    const headers = { 'x-request-key': 'k' };
    const reply = await fetch(`${provider.url}/jobs`, { method: 'POST', headers, body: '{}' });
    const [record] = await provider.records();
    await provider.close();

    expect(reply.status).toBe(201);
    expect(record?.key).toBe('k');
  });
});

describe('a provider with a ledger file', () => {
  test('remembers its records and keys after it was killed', async () => {
    const ledger = join(folder, 'ledger.ndjson');
    const first = await spawnProvider({ ledger });
    await first.faults(['commit-then-drop']);
    await expect(post(first.url, '/jobs', 'k', order)).rejects.toThrow('fetch failed');
    await post(first.url, '/keyless/emails', undefined, order);
    process.kill(first.pid, 'SIGKILL');
    await expect(first.logged(() => false)).rejects.toThrow('gave no answer');
    await first.close();

    const second = await spawnProvider({ ledger });
    const records = await second.records();
    const replayed = await post(second.url, '/jobs', 'k', order);
    const next = await post(second.url, '/jobs', 'l', order);
    await second.close();

    expect(records.map(({ id, key }) => [id, key])).toEqual([
      ['job_1', 'k'],
      ['email_1', null],
    ]);
    expect(replayed).toMatchObject({ status: 200, replayed: true, body: { id: 'job_1' } });
    expect(next.body['id']).toBe('job_2');
  });

  test('still lags and still forgets after a restart', async () => {
    const ledger = join(folder, 'ledger.ndjson');
    let now = 1000;
    const clock = { now: () => now, setTimer: () => {} };
    const first = await scriptedProvider({ ledger, clock });
    await first.faults(['lagLookup(100)', 'forget(100)']);
    await post(first.url, '/jobs', 'lagging', order);
    await post(first.url, '/jobs', 'forgotten', order);
    await first.close();

    const second = await scriptedProvider({ ledger, clock });
    const early = await get(second.url, '/jobs/by-idempotency-key/lagging');
    now += 100;
    const later = await get(second.url, '/jobs/by-idempotency-key/lagging');
    const again = await post(second.url, '/jobs', 'forgotten', order);
    await second.close();

    expect([early.status, later.status, again.status]).toEqual([404, 200, 201]);
  });

  test('only ever adds to it, a reset included', async () => {
    const ledger = join(folder, 'ledger.ndjson');
    const provider = await scriptedProvider({ ledger });

    await post(provider.url, '/jobs', 'k', order);
    const before = readFileSync(ledger, 'utf8');
    await provider.reset();
    await post(provider.url, '/jobs', 'l', order);
    await provider.close();
    const restarted = await scriptedProvider({ ledger });
    const records = await restarted.records();
    await restarted.close();

    expect(readFileSync(ledger, 'utf8').startsWith(before)).toBe(true);
    expect(records.map(({ id, key }) => [id, key])).toEqual([['job_1', 'l']]);
  });

  test('drops a line that a kill cut off, and refuses one that is broken', async () => {
    const ledger = join(folder, 'ledger.ndjson');
    const first = await scriptedProvider({ ledger });
    await post(first.url, '/jobs', 'k', order);
    await first.close();
    appendFileSync(ledger, '{"n":2,"kind":"job","id":"jo');

    const second = await scriptedProvider({ ledger });
    await post(second.url, '/jobs', 'l', order);
    const records = await second.records();
    await second.close();
    const whole = readFileSync(ledger, 'utf8');
    writeFileSync(ledger, `${whole}nonsense\n`);

    expect(records.map(({ id }) => id)).toEqual(['job_1', 'job_2']);
    await expect(scriptedProvider({ ledger })).rejects.toThrow(`${ledger}, line 3`);
  });
});

describe('a client process that is killed while its reply is held', () => {
  test('leaves the provider alive, its record made and its key free', async () => {
    const provider = await spawnProvider();
    await provider.faults(['commit-then-hold']);
    const sending = `await fetch('${provider.url}/payments', {
      method: 'POST', headers: { 'idempotency-key': 'k' }, body: '{"orderId":"order-1"}',
    })`;
    const client = spawn(process.execPath, ['--input-type=module', '--eval', sending], { stdio: 'ignore' });
    await provider.logged(({ event, key }) => event === 'HOLD' && key === 'k');

    client.kill('SIGKILL');
    await provider.logged(({ event, key }) => event === 'GONE' && key === 'k');
    const retry = await post(provider.url, '/payments', 'k', order);
    const records = await provider.records();
    const health = await get(provider.url, '/_test/health');
    await provider.close();

    expect(retry).toMatchObject({ status: 200, replayed: true });
    expect(records).toHaveLength(1);
    expect(health.body).toMatchObject({ ok: true, pid: provider.pid });
  });
});

describe('a test process that dies', () => {
  test('leaves no provider behind', async () => {
    const index = new URL('../../src/testing/provider/index.ts', import.meta.url).href;
    const starting = `const { spawnProvider } = await import('${index}');
      const provider = await spawnProvider();
      console.log(provider.url);`;
    const parent = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', starting]);
    const [url] = await once(createInterface({ input: parent.stdout }), 'line');
    const waiting = breakOf(get(String(url), '/_test/entries'));

    parent.kill('SIGKILL');

    expect(await waiting).toBe('fetch failed');
  });
});
