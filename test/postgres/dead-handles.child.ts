/**
 * What the `postgres` driver makes of a transaction's handle when its connection has died, in a process of its own.
 * The pool has one connection, so that the next transaction is on the very connection that the driver made anew.
 */

import { serverHosts, type ServerHost } from '../support/host-transactions.ts';
import { databaseAt } from '../support/postgres.ts';
import { gate } from '../support/scripted-charge.ts';
import { until } from '../support/world.ts';
import { letter, letterAbout, type Said, saidOf, submitterAt } from './shop-letters.ts';

/** What the first transaction does once it is dead and the second is under way, and when that one submits. */
export interface DeadHandle {
  readonly name: string;
  readonly kind: ServerHost;
  readonly first: 'submits' | 'submits, with no other under way' | 'rolls back' | 'commits';
  /** Null: not at all. */
  readonly secondSubmits: 'before' | 'after' | null;
  readonly second: 'commits' | 'rolls back';
}

export interface DeadHandleEnd {
  readonly name: string;
  readonly submissions: Readonly<Record<'first' | 'second', Said | null>>;
  /** What the callers were told. */
  readonly told: Readonly<Record<'first' | 'second', 'committed' | 'failed'>>;
}

// The test that started this process wrote it.
const { url, handles } = JSON.parse(process.argv[2] ?? '') as { url: string; handles: readonly DeadHandle[] };

const submitter = submitterAt(url, 5_000);
const killer = databaseAt(url);
for (const handle of handles) console.log(JSON.stringify(await outlived(handle)));
await killer.end();
await submitter.stop();

async function outlived({ name, kind, ...plan }: DeadHandle): Promise<DeadHandleEnd> {
  const host = serverHosts[kind](url, 1);
  const submissions: Record<'first' | 'second', Said | null> = { first: null, second: null };
  const [underWay, firstIsDone] = [gate(), gate()];
  const submit = async (which: 'first' | 'second', tx: Parameters<typeof submitter.submit>[2]) => {
    submissions[which] = await saidOf(submitter.submit(letter, letterAbout(`${name} ${which}`), tx));
  };

  const first = host.transact(async ({ tx, query }) => {
    const [session] = await query('select pg_backend_pid() as pid');
    await query(`insert into shop_order (id) values ('${name} first')`);
    await killer`select pg_terminate_backend(${Number(session?.['pid'])})`;
    await host.lost;
    await underWay.passed;
    if (plan.first.startsWith('submits')) {
      await submit('first', { tx });
      firstIsDone.open();
      // It goes no further.
      return await new Promise<never>(() => {});
    }
    firstIsDone.open();
    if (plan.first === 'rolls back') throw new Error('The first caller gives up.');
  });
  const firstTold = first.then(
    () => 'committed' as const,
    () => 'failed' as const,
  );
  await host.lost;
  if (plan.first === 'submits, with no other under way') {
    await host.query('select 1');
    underWay.open();
    await firstIsDone.passed;
  }
  const second = host.transact(async ({ tx, query }) => {
    await query(`insert into shop_order (id) values ('${name} second')`);
    if (plan.secondSubmits === 'before') await submit('second', { tx });
    underWay.open();
    await firstIsDone.passed;
    if (!plan.first.startsWith('submits')) {
      await until(async () => {
        const [session] = await query('select pg_current_xact_id_if_assigned() is null as ended');
        return session?.['ended'] === true ? true : null;
      }, 'the transaction to be ended by the first caller');
    }
    if (plan.secondSubmits === 'after') await submit('second', { tx });
    if (plan.second === 'rolls back') throw new Error('The second caller gives up.');
  });
  const secondTold = second.then(
    () => 'committed' as const,
    () => 'failed' as const,
  );
  const told = { first: await firstTold, second: await secondTold };
  await host.end();
  return { name, submissions, told };
}
