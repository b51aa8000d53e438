/** A store that was closed keeps nothing: no process alive, no caller waiting, no session at the server. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { migrate, postgresStore } from 'sagacity/postgres';
import { describe, expect, test } from 'vitest';
import { type FaultProxy, faultProxy } from '../../src/testing/fault-proxy/fault-proxy.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { until } from '../support/world.ts';
import { endingOf } from './working-shop.ts';

const closingChild = fileURLToPath(new URL('./closing.child.ts', import.meta.url));

interface Situation {
  readonly situation: string;
  /** Under way or in line when it is closed. */
  readonly calls: number;
  readonly become: (network: FaultProxy) => void;
}

const situations: readonly Situation[] = [
  { situation: 'is idle', calls: 0, become() {} },
  { situation: 'has more calls than connections', calls: 20, become() {} },
  { situation: 'waits for a network that fell silent', calls: 20, become: (network) => network.halfOpen() },
  {
    situation: 'is connecting to a server that does not answer',
    calls: 20,
    become(network) {
      network.reset();
      network.hang();
    },
  },
  { situation: 'finds no server any more', calls: 20, become: (network) => network.refuse() },
];

describe('a process that closes a store', () => {
  test.concurrent.for(situations)(
    'which $situation ends by itself soon after, with every call ended',
    async (of, { onTestFinished }) => {
      const url = await freshDatabase();
      await migrate({ url });
      const network = await faultProxy({ port: Number(new URL(url).port) });
      const child = fork(closingChild, [network.urlFor(url), String(of.calls)], {
        execArgv: ['--import', 'tsx', '--conditions=sagacity-source'],
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      });
      const said: string[] = [];
      child.stderr?.on('data', (chunk: Buffer) => said.push(chunk.toString('utf8')));
      const exited = once(child, 'exit');
      onTestFinished(async () => {
        child.kill('SIGKILL');
        await network.close();
      });
      await once(child, 'message');

      of.become(network);
      child.send('close');
      const [statuses] = await once(child, 'message');
      const closed = performance.now();
      const [code] = await exited;

      expect(performance.now() - closed).toBeLessThan(2_000);
      expect(statuses).toHaveLength(of.calls);
      expect(code).toBe(0);
      expect(said.join('')).toBe('');
    },
  );
});

describe('a store that was closed', () => {
  test('carries out nothing any more, until it is opened again', async () => {
    const url = await freshDatabase();
    const onlooker = databaseAt(url);
    const store = postgresStore({ url, migrate: true, connections: 3 });
    await store.open();
    const calls = Array.from({ length: 30 }, (_, n) => endingOf(store.enlist(`worker-${n}`)));

    await store.close();
    const endings = await Promise.all(calls);
    const later = await endingOf(store.enlist('worker-later'));

    expect(endings.filter(({ how }) => how !== 'STORE_UNAVAILABLE' && how !== 'STORE_IN_DOUBT')).toEqual([]);
    expect(endings.filter(({ how }) => how === 'STORE_IN_DOUBT').length).toBeLessThanOrEqual(2);
    expect(later.how).toBe('STORE_UNAVAILABLE');
    await until(async () => {
      const left =
        await onlooker`select from pg_stat_activity where datname = current_database() and application_name = 'sagacity'`;
      return left.length === 0 ? true : null;
    }, 'the sessions of the store to be gone');
    const [written] = await onlooker<{ count: number }[]>`select count(*)::int as count from sagacity.worker`;
    expect(written?.count).toBeLessThanOrEqual(2);
    await store.open();
    expect((await endingOf(store.enlist('worker-later'))).how).toBe('answered');
    await store.close();
    await onlooker.end();
  });
});
