/**
 * One mode of the measurement of timers: two processes work, a third one arms all timers and ends, so that whoever fires
 * them has not armed them. When each was due is what its saga was told, and when it fired is what the database recorded as
 * its end.
 */

import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { migrate } from 'sagacity/postgres';
import type { PrivateNats, PrivatePostgres } from 'sagacity/testing';
import type { AtTheEnd } from '../support/to-the-end.ts';
import { latenessOf, type Mode, type Row, type Timer } from './lateness.ts';
import { type Measured, startProcess } from './processes.ts';
import type { TimersSaid, TimersTask } from './timers.child.ts';

export interface TimersOptions {
  readonly timers: number;
  readonly seconds: number;
  readonly seed: number;
}

export interface Servers {
  readonly database: PrivatePostgres;
  readonly nats: PrivateNats;
}

const WORKERS = 2;

/** After the last was due: what has not fired by then is lost. So long, and this for each timer. */
const LOST_AFTER_MS = 60_000;
const LOST_AFTER_MS_EACH = 10;

export async function measureTimers(
  mode: Mode,
  { timers, seconds, seed }: TimersOptions,
  { database, nats }: Servers,
  doing: (what: string) => void,
  atTheEnd: AtTheEnd,
): Promise<Row> {
  const databaseUrl = await database.createDatabase();
  await migrate({ url: databaseUrl });
  const task: Omit<TimersTask, 'does'> = {
    ...{ databaseUrl, timers, seed, windowMs: seconds * 1_000 },
    natsUrl: mode === 'sweep' ? null : nats.url,
  };
  const processes: Measured[] = [];
  const begin = (does: TimersTask['does'], onSaid: (said: TimersSaid) => void) => {
    const process = startProcess<TimersSaid>('timers.child.ts', { ...task, does }, onSaid);
    processes.push(process);
    atTheEnd(() => process.end());
    return process;
  };
  const failed = () =>
    Promise.race(processes.map(({ ended }) => ended)).then(() =>
      Promise.reject(new Error('A process has stopped working.')),
    );

  doing(`${mode}: starting`);
  await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      let atWork = () => {};
      const working = new Promise<void>((resolve) => {
        atWork = resolve;
      });
      const process = begin('work', atWork);
      await Promise.race([working, process.ended]);
    }),
  );
  const arming = begin('arm', (said) => {
    if (said.says === 'armed') doing(`${mode}: ${said.armed} of ${timers} armed`);
  });
  await arming.ended;
  processes.splice(processes.indexOf(arming), 1);

  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  atTheEnd(() => sql.end({ timeout: 1 }));
  const { first, last } = await windowIn(sql);
  const firing = untilAllFired(sql, timers, last, (fired) => doing(`${mode}: ${fired} of ${timers} fired`));
  const wiping =
    mode === 'nats-emptied' ? emptyAt((first + last) / 2, nats, () => doing(`${mode}: NATS is emptied`)) : null;
  await Promise.race([Promise.all([firing, wiping]), failed()]);
  const found = await timersIn(sql);
  await Promise.all([sql.end({ timeout: 1 }), ...processes.map((process) => process.end())]);
  return { mode, ...latenessOf(found) };
}

async function emptyAt(at: number, nats: PrivateNats, tell: () => void): Promise<void> {
  await pause(Math.max(0, at - Date.now()));
  await nats.kill();
  await nats.empty();
  tell();
  await nats.start();
}

async function untilAllFired(
  sql: postgres.Sql,
  timers: number,
  last: number,
  tell: (fired: number) => void,
): Promise<void> {
  const lostAt = last + LOST_AFTER_MS + LOST_AFTER_MS_EACH * timers;
  for (;;) {
    const [found] = await sql<{ fired: number }[]>`
      select count(*)::int as fired from sagacity.saga where state <> 'waiting'`;
    const fired = found?.fired ?? 0;
    tell(fired);
    if (fired >= timers || Date.now() > lostAt) return;
    await pause(1_000);
  }
}

async function windowIn(sql: postgres.Sql): Promise<{ first: number; last: number }> {
  const [found] = await sql<{ first: number; last: number }[]>`
    select min((input ->> 'until')::float8) as first, max((input ->> 'until')::float8) as last from sagacity.saga`;
  return found ?? { first: 0, last: 0 };
}

/** The second record of a saga that sleeps is that of its end. */
async function timersIn(sql: postgres.Sql): Promise<Timer[]> {
  return await sql<Timer[]>`
    select (s.input ->> 'until')::float8 as "dueAt", (extract(epoch from a.at) * 1000)::float8 as "firedAt"
    from sagacity.saga s
    left join sagacity.attempt a on a.tenant = s.tenant and a.subject = s.id and a.revision = 2 and a.n = 0`;
}
