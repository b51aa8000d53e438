/**
 * Workers by the store's clock: a renewal succeeds only while the last one is fresh, and death is final. Whoever
 * wants what a dead worker held takes it by `claim`.
 */

import { sql } from 'drizzle-orm';
import { answerOf, carryOut, type Database } from './executor.ts';
import { storeNow } from './store-now.ts';

/** Repeating it changes nothing, so that a lost answer can be repeated and a dead worker does not come back. */
export async function enlistWorker(database: Database, worker: string): Promise<void> {
  await carryOut(
    database,
    'enlist',
    sql`
    insert into ${database.tables.worker} (id, beat_at) values (${worker}::text, ${storeNow}) on conflict (id) do nothing`,
  );
}

export async function renewWorker(database: Database, worker: string, timeoutMs: number): Promise<boolean> {
  const renewed = await answerOf<boolean>(
    database,
    'renew',
    sql`
      update ${database.tables.worker} w
      set beat_at = ${storeNow}
      where
        w.id = ${worker}::text
        and w.dead_at is null
        and w.beat_at > ${storeNow} - ${timeoutMs}::float8 * interval '1 millisecond'
      returning 'true' as answer`,
  );
  return renewed === true;
}

/** Gives how many workers died by it. */
export async function buryWorkers(
  database: Database,
  worker: string,
  which: 'others' | { readonly timeoutMs: number },
): Promise<number> {
  const condition =
    which === 'others'
      ? sql`w.id <> ${worker}::text`
      : sql`w.beat_at < ${storeNow} - ${which.timeoutMs}::float8 * interval '1 millisecond'`;
  const buried = await answerOf<number>(
    database,
    'bury',
    sql`
      with buried as (
        update ${database.tables.worker} w set dead_at = ${storeNow} where w.dead_at is null and ${condition} returning 1
      )
      select count(*)::text as answer from buried`,
  );
  return buried ?? 0;
}

/** What is settled or waits for a person stays as it is: only a hand-over moves it, and a hand-over needs no due time. */
export async function retireWorker(database: Database, worker: string): Promise<void> {
  await carryOut(
    database,
    'retire',
    sql`
    with dead as (
      update ${database.tables.worker} w set dead_at = ${storeNow} where w.id = ${worker}::text and w.dead_at is null
    )
    update ${database.tables.operation} o
    set
      owner = null,
      generation = o.generation + 1,
      due_at = case
        when o.state in ('succeeded', 'failed', 'compensated', 'escalated') then o.due_at
        else coalesce(o.due_at, ${storeNow})
      end
    where o.owner = ${worker}::text`,
  );
}
