/**
 * Ten processes start on a database without tables, each with the order to install them, and one is killed when it has
 * made some of them. Whatever becomes of its transaction, the others get ready and work, what they work on is what one
 * process alone would have made, and nobody holds anything afterwards.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { migrate } from 'sagacity/postgres';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { migrations } from '../../drizzle/migrations.ts';
import { type Bundle, bundled } from '../kill/bundle.ts';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { SESSIONS, transactionPooler } from '../support/transaction-pooler.ts';
import { until } from '../support/world.ts';
import type { Installation } from './installing.child.ts';

const OTHERS = 9;

interface Round {
  readonly behindPooler: boolean;
  /** Whether the server ends the transaction of who was killed, or carries it out because nobody told it. */
  readonly serverLearns: 'at once' | 'too late';
}

const rounds: readonly [string, Round][] = [
  ['and the server learns of it at once', { behindPooler: false, serverLearns: 'at once' }],
  ['and the server learns of it too late', { behindPooler: false, serverLearns: 'too late' }],
  ['and there is a pooler in between', { behindPooler: true, serverLearns: 'at once' }],
];

/** Of each kind. */
const ROUNDS = 2;

let bundle: Bundle;
let others: readonly ChildProcess[];
let alone: readonly unknown[];

beforeAll(async () => {
  bundle = await bundled(fileURLToPath(new URL('installing.child.ts', import.meta.url)));
  others = Array.from({ length: OTHERS }, () => fork(bundle.path));
  const url = await freshDatabase();
  await migrate({ url });
  alone = await madeIn(url);
});

afterAll(async () => {
  await Promise.all(others.map(over));
  await bundle.remove();
});

describe('ten processes that start on a database without tables', () => {
  test.each(rounds)('all get ready but the one that is killed among its tables, %s', async (_, kind) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { answers, made, ledger, held } = await played(kind);

      expect(answers).toEqual(others.map(() => 'succeeded'));
      expect(made).toEqual(alone);
      expect(ledger).toEqual(migrations.map(({ number, name, checksum }) => ({ number, name, checksum })));
      expect(held).toEqual([]);
    }
  });
});

/** What the others answer, and what is there afterwards. */
async function played({ behindPooler, serverLearns }: Round) {
  const url = await freshDatabase();
  const pooler = behindPooler ? await transactionPooler(url) : null;
  const installation: Installation = { url: pooler?.url ?? url, pooler: behindPooler };
  const middle = await haltedInTheMiddle(url);
  const victim = fork(bundle.path);
  onTestFinished(async () => {
    victim.kill('SIGKILL');
    await pooler?.close();
  });

  victim.send(installation);
  const [session] = await middle.halted();
  const ready = others.map((each) => told(each, installation));
  await middle.inLine(behindPooler ? SESSIONS - 1 : OTHERS);
  victim.kill('SIGKILL');
  await over(victim);
  if (serverLearns === 'at once') await middle.end(session);
  await middle.goOn();

  const answers = await Promise.all(ready);
  return { answers, made: await madeIn(url), ledger: await ledgerOf(url), held: await heldIn(url) };
}

/** The answer of a process that is told to install. */
async function told(child: ChildProcess, installation: Installation): Promise<unknown> {
  const answered = once(child, 'message');
  child.send(installation);
  const [answer] = await answered;
  return answer;
}

async function over(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  if (child.connected) child.disconnect();
  await exited;
}

/** Whoever migrates the database halts when it has made one of the last tables, until it may go on. */
async function haltedInTheMiddle(url: string) {
  const [holder, onlooker] = [databaseAt(url), databaseAt(url)];
  await holder.unsafe(`
    create function public.halt() returns event_trigger language plpgsql as $$
    begin
      if exists (select from pg_event_trigger_ddl_commands() where object_identity = 'sagacity.worker') then
        perform pg_advisory_xact_lock_shared(17, 53);
      end if;
    end $$;
    create event trigger halt on ddl_command_end when tag in ('CREATE TABLE') execute function public.halt();
    select pg_advisory_lock(17, 53)`);
  /** Of those that wait for a lock of this kind: of two numbers it is the test's, of one it is that of all migrations. */
  const waiting = async (numbers: 1 | 2) => {
    const found = await onlooker<{ pid: number }[]>`
      select l.pid from pg_sleep(0.02), pg_locks l join pg_database d on d.oid = l.database
      where d.datname = current_database() and l.locktype = 'advisory' and not l.granted
        and l.objsubid = ${numbers === 2 ? 2 : 1}`;
    return found.map(({ pid }) => pid);
  };
  const waits = (many: number, numbers: 1 | 2, where: string) =>
    until(
      async () => {
        const sessions = await waiting(numbers);
        return sessions.length >= many ? sessions : null;
      },
      `${many} to be ${where}`,
      20_000,
    );
  return {
    /** Resolves with the session of who has halted. */
    halted: () => waits(1, 2, 'halted in the middle'),
    /** Resolves when so many wait for who migrates. */
    inLine: (many: number) => waits(many, 1, 'in line'),
    /** Ends a session, as the server does when it learns that its client is gone, and waits for the next to halt. */
    async end(session: number | undefined) {
      await onlooker`select pg_terminate_backend(${session ?? null}::int)`;
      await until(async () => {
        const [next] = await waiting(2);
        return next !== undefined && next !== session ? true : null;
      }, 'the next one to halt in the middle');
    },
    async goOn() {
      await holder`select pg_advisory_unlock(17, 53)`;
      await Promise.all([holder.end(), onlooker.end()]);
    },
  };
}

/** Every column, index, constraint, trigger and function of the schema. */
async function madeIn(url: string): Promise<readonly unknown[]> {
  const sql = databaseAt(url);
  const made = await sql`
    with own as (select oid from pg_namespace where nspname = 'sagacity')
    select format('%s.%s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull) as made
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace in (select oid from own) and c.relkind in ('r', 'S') and not a.attisdropped
    union all select indexdef from pg_indexes where schemaname = 'sagacity'
    union all select format('%s %s', conname, pg_get_constraintdef(oid)) from pg_constraint
      where connamespace in (select oid from own)
    union all select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
      where c.relnamespace in (select oid from own) and not t.tgisinternal
    union all select pg_get_functiondef(oid) from pg_proc where pronamespace in (select oid from own)
    order by 1`;
  await sql.end();
  return made.map((row) => row['made']);
}

async function ledgerOf(url: string): Promise<readonly unknown[]> {
  const sql = databaseAt(url);
  const ledger = await sql`select number, name, checksum from sagacity.migration order by number`;
  await sql.end();
  return [...ledger];
}

/** Advisory locks that anybody has, and transactions that were left open, once the sessions of the shop are gone. */
async function heldIn(url: string): Promise<readonly unknown[]> {
  const sql = databaseAt(url);
  const held = await sql`
    select l.locktype as what from pg_locks l join pg_database d on d.oid = l.database
    where d.datname = current_database() and l.locktype = 'advisory'
    union all
    select state from pg_stat_activity
    where datname = current_database() and application_name = 'sagacity' and xact_start is not null`;
  await sql.end();
  return [...held];
}
