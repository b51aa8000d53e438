/**
 * One transaction of a host, with a row of its own and a submission, whose connection another session terminates at a
 * named point between two statements. Whatever the driver then does, the row and the operation share one fate.
 */

import type { Orchestrator } from 'sagacity';
import { type Host, serverHosts, type ServerHost } from '../support/host-transactions.ts';
import { databaseAt } from '../support/postgres.ts';
import { letter, letterAbout, type Said, saidOf } from './shop-letters.ts';

/** `at the commit`: it is terminated while the commit is on its way. */
export const points = [
  'before the submission',
  'before its turn',
  'after its turn',
  'before the commit',
  'at the commit',
] as const;

export interface Kill {
  readonly kind: ServerHost;
  readonly orderId: string;
  /** Null: this one is spared. */
  readonly point: (typeof points)[number] | null;
  /** What the driver knows when the transaction goes on. `reconnected`: another caller has made it connect anew. */
  readonly driver: 'unaware' | 'aware' | 'reconnected';
}

export interface Killed extends Kill {
  /** What the host was told of its transaction. */
  readonly told: 'committed' | 'failed' | 'nothing';
  /** Null: the submission had no answer when the round was given up. */
  readonly submission: Said | null;
}

/** Longer than a submission takes to give up. */
const PATIENCE_MS = 5_000;

/** Begins, writes, submits and commits, on a pool of one connection. */
export async function killed(url: string, submitter: Orchestrator<true>, kill: Kill): Promise<Killed> {
  const { kind, orderId, point, driver } = kill;
  const host = serverHosts[kind](url, 1);
  const killer = databaseAt(url);
  // Connected, so that a kill at the commit is not too late for it.
  await killer`select 1`;
  let submission: Said | null = null;
  let working: Promise<void> | undefined;

  const transaction = host.transact((inside) => {
    working = (async () => {
      const [session] = await inside.query('select pg_backend_pid() as pid');
      const strikeAt = async (here: typeof point) => {
        if (here !== point) return;
        await terminate(killer, session?.['pid']);
        if (driver !== 'unaware') await host.lost;
        if (driver === 'reconnected') await host.query('select 1');
      };
      await inside.query(`insert into shop_order (id) values ('${orderId}')`);
      await strikeAt('before the submission');
      let statements = 0;
      const tx = inside.before(async () => {
        statements += 1;
        if (statements === 2) await strikeAt('before its turn');
        if (statements === 3) await strikeAt('after its turn');
      });
      const submitting = submitter.submit(letter, letterAbout(orderId), { tx });
      submission = await saidOf(submitting);
      await submitting;
      await strikeAt('before the commit');
      if (point === 'at the commit') void terminate(killer, session?.['pid']);
    })();
    return working;
  });
  const told = await inTime(
    transaction.then(
      () => 'committed' as const,
      () => 'failed' as const,
    ),
  );
  // The host hears of a lost connection while its work still goes on.
  await inTime(working?.catch(() => {}) ?? Promise.resolve());
  await Promise.all([ended(host), killer.end()]);
  return { ...kill, told: told ?? 'nothing', submission };
}

async function terminate(killer: ReturnType<typeof databaseAt>, pid: unknown): Promise<void> {
  await killer`select pg_terminate_backend(${Number(pid)})`;
}

/** A pool whose driver has lost count of its connections may never end. */
async function ended(host: Host): Promise<void> {
  await inTime(host.end().catch(() => {}));
}

/** Null: it took too long. */
async function inTime<Result>(work: Promise<Result>): Promise<Result | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), PATIENCE_MS);
  });
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
