/** What only the embedded store promises: one process a directory, survival of a kill, deadlines, clear refusals. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { lockDirectory } from '../../src/adapters/pglite/lock.ts';
import { pgliteStore } from '../../src/pglite.ts';
import type { Store, Turn } from '../../src/ports/store.ts';

let directory: string;
let lockFile: string;
const children: Child[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sagacity-'));
  lockFile = `${directory}.lock`;
});

afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.kill()));
  await rm(directory, { recursive: true, force: true });
  await rm(lockFile, { force: true });
});

describe('a directory that a process has locked', () => {
  test('is refused to a second process at once, which is told by whom', async () => {
    const first = await startChild('lock.child.ts', directory);
    const second = await startChild('lock.child.ts', directory);
    await first.ask('locked');

    const answer = await second.ask('');

    expect(answer).toContain(`${directory} is already open in process ${first.pid}.`);
    expect(answer).toContain('use another directory');
  });

  test('is refused to a store of this process, before anything is opened', async () => {
    const lock = await lockDirectory(directory);

    const opening = pgliteStore(directory).open();

    await expect(opening).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(`this process (${process.pid})`),
    });
    expect(await readdir(directory)).toEqual([]);
    await lock.release();
  });

  test('is free again once it was released', async () => {
    const child = await startChild('lock.child.ts', directory);
    await child.ask('locked');
    await child.finish();

    const lock = await lockDirectory(directory);
    await lock.release();

    await expect(readFile(lockFile)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('stays locked when a former holder releases it late', async () => {
    const lock = await lockDirectory(directory);
    const other = JSON.stringify({ pid: process.pid, startedAt: null, bootId: null, nonce: 'of another' });
    await writeFile(lockFile, other);

    await lock.release();

    expect(await readFile(lockFile, 'utf8')).toBe(other);
  });
});

describe('a lock whose holder is no more', () => {
  test('is taken over after a kill', async () => {
    const child = await startChild('lock.child.ts', directory);
    await child.ask('locked');
    await child.kill();

    const lock = await lockDirectory(directory);

    expect(await holderPid()).toBe(process.pid);
    await lock.release();
  });

  test('is taken over by exactly one of several processes, and no trace of the race remains', async () => {
    await writeFile(lockFile, await heldBy({ pid: await pidOfTheDead() }));
    const racers = await Promise.all(Array.from({ length: 5 }, () => startChild('lock.child.ts', directory)));

    const answers = await Promise.all(racers.map((racer) => racer.ask('')));

    expect(answers.filter((answer) => answer === 'locked').length).toBe(1);
    expect(answers.filter((answer) => answer.startsWith('refused The PGlite directory')).length).toBe(4);
    await Promise.all(racers.map((racer) => racer.finish()));
    expect(
      (await readdir(join(directory, '..'))).filter((name) => join(directory, '..', name).startsWith(lockFile)),
    ).toEqual([]);
  });

  test('is taken over when the pid belongs to a process that began at another time', async () => {
    await writeFile(lockFile, await heldBy({ pid: process.ppid, startedAt: '1' }));

    const lock = await lockDirectory(directory);

    expect(await holderPid()).toBe(process.pid);
    await lock.release();
  });

  test('is taken over after the machine was started anew', async () => {
    await writeFile(lockFile, await heldBy({ pid: process.ppid, bootId: 'an earlier one' }));

    const lock = await lockDirectory(directory);

    expect(await holderPid()).toBe(process.pid);
    await lock.release();
  });

  test('is taken over from a process that has ended and was not yet reaped', async () => {
    // The shell becomes the process that never asks after its child.
    const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60']);
    const [line] = await once(createInterface(parent.stdout), 'line');
    const pid = Number(line);
    await ended(pid);
    await writeFile(lockFile, await heldBy({ pid, startedAt: (await statOf(pid)).startedAt }));

    const lock = await lockDirectory(directory);

    expect(await holderPid()).toBe(process.pid);
    await lock.release();
    parent.kill('SIGKILL');
  });

  test('is taken over when the file was damaged', async () => {
    await writeFile(lockFile, '{"pid":');

    const lock = await lockDirectory(directory);

    expect(await holderPid()).toBe(process.pid);
    await lock.release();
  });

  test('is not taken over while its holder lives', async () => {
    const { startedAt } = await statOf(process.ppid);
    await writeFile(lockFile, await heldBy({ pid: process.ppid, startedAt }));

    const locking = lockDirectory(directory);

    await expect(locking).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('a lock whose holder cannot be judged from here', () => {
  test.each<[string, object]>([
    ['counts its processes apart, as another container does', { pidNamespace: 'pid:[1]' }],
    ['counts its processes apart, in a system without such names', { pidNamespace: null }],
    ['is on another machine', { host: 'elsewhere-7' }],
    ['is on another machine that was started at another time', { host: 'elsewhere-7', bootId: 'another' }],
  ])('because it %s is not taken over, and it is told what to do', async (_, holder) => {
    const pid = await pidOfTheDead();
    const left = await heldBy({ pid, ...(await whereWeAre()), ...holder });
    await writeFile(lockFile, left);

    const refusal: unknown = await lockDirectory(directory).catch((error: unknown) => error);

    expect(refusal).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    const { host }: { host: string } = JSON.parse(left);
    const message = refusal instanceof Error ? refusal.message : '';
    expect(message).toContain(`process ${pid} on host "${host}"`);
    expect(message).toContain(`delete ${lockFile}`);
    expect(await readFile(lockFile, 'utf8')).toBe(left);
    expect(await readdir(directory)).toEqual([]);
  });

  test('is taken over once a person has deleted the file', async () => {
    await writeFile(lockFile, await heldBy({ pid: 17, host: 'elsewhere-7', pidNamespace: null }));
    await expect(lockDirectory(directory)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await rm(lockFile);

    const lock = await lockDirectory(directory);

    expect(await holderPid()).toBe(process.pid);
    await lock.release();
  });
});

describe('a lock that says where its holder is', () => {
  test('is taken over when that is here and the holder is dead', async () => {
    await writeFile(lockFile, await heldBy({ pid: await pidOfTheDead(), ...(await whereWeAre()) }));

    const lock = await lockDirectory(directory);

    const written: unknown = JSON.parse(await readFile(lockFile, 'utf8'));
    expect(written).toMatchObject({ pid: process.pid, ...(await whereWeAre()) });
    await lock.release();
  });
});

describe('a process that is killed while it writes', () => {
  test('loses nothing that was acknowledged, and tears nothing that was not', async () => {
    const writer = await startChild('writer.child.ts', directory, 'a0 1');
    const acknowledged = await writer.lines(120);
    await writer.kill();

    const store = pgliteStore(directory);
    await store.open();

    const latest = new Map(acknowledged.map((line) => line.split(' ') as [string, string]));
    for (const [id, revision] of latest) {
      const row = await store.read({ tenant: 'shop', id });
      const records = await store.records({ tenant: 'shop', id });
      expect(row?.revision).toBeGreaterThanOrEqual(Number(revision));
      expect(records.length).toBe(row?.revision);
      expect(row?.snapshot).toEqual({ revision: Number(row?.revision) - 1 });
    }
    expect(latest.size).toBeGreaterThan(10);
    await store.close();
    await expect(readFile(lockFile)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('a store on an instance of the host', () => {
  let instance: PGlite;
  let store: Store;

  beforeAll(async () => {
    instance = await PGlite.create();
    store = pgliteStore({ instance });
    await store.open();
  });

  afterAll(() => instance.close());

  test('does not wait for ever for a transaction of the host in which it is opened', async () => {
    const hasty = pgliteStore({ instance, deadlineMs: 20 });

    const opening = instance.transaction(() => hasty.open());

    await expect(opening).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('before a transaction of it is open'),
    });
  });

  test('opens as often as one likes, and leaves the instance open when it closes', async () => {
    const another = pgliteStore({ instance });
    await another.open();
    await another.open();
    await another.close();
    await another.close();

    expect(instance.closed).toBe(false);
    const { rows } = await instance.query('select number from sagacity.migration');
    expect(rows).toEqual([{ number: 0 }]);
  });

  test('carries nothing out before it is opened and after it was closed', async () => {
    const another = pgliteStore({ instance });
    const before = another.read({ tenant: 'shop', id: 'x' });
    await expect(before).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    await another.open();
    await another.close();

    const after = another.turn(birth('closed'));

    await expect(after).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(await store.read({ tenant: 'shop', id: 'closed' })).toBe(null);
  });

  test('leaves a late write in doubt, and repeating it settles the doubt', async () => {
    const hasty = pgliteStore({ instance, deadlineMs: 50 });
    await hasty.open();
    let release = (): void => {};
    const hostsWork = instance.transaction(() => new Promise<void>((resolve) => (release = resolve)));

    const [write, read] = await Promise.allSettled([
      hasty.turn(birth('late')),
      hasty.read({ tenant: 'shop', id: 'late' }),
    ]);
    release();
    await hostsWork;
    expect(write).toMatchObject({ status: 'rejected', reason: { code: 'STORE_IN_DOUBT', retryable: true } });
    expect(read).toMatchObject({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE', retryable: true } });
    expect(await store.turn(birth('late'))).toBe(null);
    expect(await store.read({ tenant: 'shop', id: 'late' })).toMatchObject({ turn: 'late/1', revision: 1 });
    expect((await store.records({ tenant: 'shop', id: 'late' })).length).toBe(1);
  });

  test('says of a refused statement its SQLSTATE and nothing of what was in it', async () => {
    const turn = { ...birth('nul'), reason: 'a\u0000 4242424242424242', snapshot: 'secret-of-the-shop' };

    const error: unknown = await store.turn(turn).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(Error);
    expect(inspect(error, { depth: Infinity, showHidden: true })).toContain('22P05');
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toMatch(/4242|secret-of-the-shop|insert into/);
    expect(await store.read({ tenant: 'shop', id: 'nul' })).toBe(null);
  });

  test('keeps a history that nobody can change', async () => {
    await store.turn(birth('history'));

    for (const statement of [
      `update sagacity.attempt set body = '0' where subject = 'history'`,
      `delete from sagacity.attempt where subject = 'history'`,
      'truncate sagacity.attempt',
    ]) {
      await expect(instance.query(statement)).rejects.toMatchObject({ code: '23001' });
    }

    expect((await store.records({ tenant: 'shop', id: 'history' })).length).toBe(1);
  });
});

describe('the optional peer', () => {
  test('is named with the line that installs it when it is missing', async () => {
    const child = await startChild('peerless.child.ts', directory, '{');

    const error: unknown = JSON.parse(child.first);

    expect(error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('npm install @electric-sql/pglite'),
    });
  });
});

function birth(id: string): Turn {
  return {
    tenant: 'shop',
    id,
    turn: `${id}/1`,
    birth: { tenant: 'shop', action: 'payment.authorise', key: id, providerKey: id, fingerprint: 'fp', input: {} },
    was: null,
    owner: null,
    generation: 1,
    state: 'pending',
    dueInMs: null,
    reason: null,
    contradicted: false,
    format: 1,
    snapshot: {},
    output: null,
    start: null,
    records: [{ kind: 'moved', attempt: null, body: {} }],
    takes: [],
  };
}

/** A script of this folder in a process of its own. */
interface Child {
  readonly pid: number | undefined;
  /** The first line it said. */
  readonly first: string;
  /** Tells it to go on; gives its answer, which must be `expected` unless that is empty. */
  ask(expected: string): Promise<string>;
  lines(count: number): Promise<string[]>;
  finish(): Promise<void>;
  kill(): Promise<void>;
}

async function startChild(script: string, argument: string, beginning = 'ready'): Promise<Child> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, ['--import', 'tsx', path, argument]);
  const exited = once(child, 'exit');
  let complaints = '';
  child.stderr.on('data', (chunk) => (complaints += String(chunk)));
  const said = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async (): Promise<string> => {
    const { done, value } = await said.next();
    if (done === true) throw new Error(`${script} ended early: ${complaints}`);
    return value;
  };
  const first = await line();
  expect(first.startsWith(beginning)).toBe(true);
  const started: Child = {
    pid: child.pid,
    first,
    async ask(expected) {
      child.stdin.write('go\n');
      const answer = await line();
      if (expected !== '') expect(answer).toBe(expected);
      return answer;
    },
    async lines(count) {
      const lines: string[] = [];
      while (lines.length < count) lines.push(await line());
      return lines;
    },
    async finish() {
      child.stdin.end();
      await exited;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
  children.push(started);
  return started;
}

async function heldBy(holder: { pid: number } & Record<string, unknown>): Promise<string> {
  const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  return JSON.stringify({ startedAt: null, bootId, nonce: 'of the former holder', ...holder });
}

async function whereWeAre(): Promise<{ host: string; pidNamespace: string }> {
  return { host: hostname(), pidNamespace: await readlink('/proc/self/ns/pid') };
}

async function holderPid(): Promise<unknown> {
  const { pid }: Record<string, unknown> = JSON.parse(await readFile(lockFile, 'utf8'));
  return pid;
}

async function pidOfTheDead(): Promise<number> {
  const child = spawn('true');
  await once(child, 'exit');
  return child.pid ?? 0;
}

async function statOf(pid: number): Promise<{ state: string; startedAt: string }> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', startedAt: fields[19] ?? '' };
}

async function ended(pid: number): Promise<void> {
  while ((await statOf(pid)).state !== 'Z') await new Promise((resolve) => setImmediate(resolve));
}
