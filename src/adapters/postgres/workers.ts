/**
 * Workers by the store's clock: a renewal succeeds only while the last one is fresh and the store on the timeline that
 * the worker was told, and death is final. Whoever wants what a dead worker held takes it by `claim`.
 */

import { sql } from 'drizzle-orm';
import type { Timeline } from '../../ports/store.ts';
import { answerOf, carryOut, type Database } from './executor.ts';
import { epochMs, storeNow } from './store-now.ts';
import { storeTimeline } from './store-timeline.ts';

/**
 * Repeating it changes nothing, so that a lost answer can be repeated and a dead worker does not come back. The first on
 * a timeline notes when that was. Of two at once the later one waits, and reads what the other wrote by updating it to
 * what it is: that row is none of those that its statement sees.
 */
export async function enlistWorker(database: Database, worker: string): Promise<Timeline> {
  const { timeline, worker: workers } = database.tables;
  const told = await answerOf<Timeline>(
    database,
    'enlist',
    sql`
      with here as materialized (select ${storeTimeline} as id, ${storeNow} as now),
      enlisted as (
        insert into ${workers} (id, beat_at) select ${worker}::text, h.now from here h on conflict (id) do nothing
      ),
      known as materialized (select t.seen_at from here h join ${timeline} t on t.id = h.id),
      noted as (
        insert into ${timeline} as t (id, seen_at)
        select h.id, h.now from here h where not exists (select from known)
        on conflict (id) do update set seen_at = t.seen_at
        returning t.seen_at
      )
      select json_build_object(
        'id', h.id,
        'changedAt', case
          when exists (select from ${timeline} t where t.id <> h.id)
            then ${epochMs('seen.seen_at')}
        end
      )::text as answer
      from here h cross join (select * from known union all select * from noted) as seen`,
  );
  if (told === null) throw new TypeError('The server told no timeline.');
  return told;
}

export async function renewWorker(
  database: Database,
  worker: string,
  timeoutMs: number,
  timeline: string,
): Promise<boolean> {
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
        and ${timeline}::text = ${storeTimeline}
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

/**
 * What is settled or waits for a person stays as it is: only a hand-over moves it, and a hand-over needs no due time. Of
 * a saga the state does not tell whether something is under way: one that is owned is due at once.
 */
export async function retireWorker(database: Database, worker: string): Promise<void> {
  const { operation, saga, worker: workers } = database.tables;
  await carryOut(
    database,
    'retire',
    sql`
    with dead as (
      update ${workers} w set dead_at = ${storeNow} where w.id = ${worker}::text and w.dead_at is null
    ),
    released as (
      update ${saga} s
      set owner = null, generation = s.generation + 1, due_at = least(s.due_at, ${storeNow})
      where s.owner = ${worker}::text
    )
    update ${operation} o
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
