/**
 * Asks the database for every operation that would be lost: neither settled, nor escalated with a reason, nor at a
 * living worker, nor nobody's and due at some time. An empty list is the proof.
 */

import type postgres from 'postgres';

export async function audit(sql: postgres.Sql): Promise<readonly string[]> {
  const lost = await sql<{ complaint: string }[]>`
    select
      concat_ws(' ', o.key || ':', o.state, case
        when o.owner is not null then 'at a worker that is dead'
        when o.state = 'escalated' then 'without a reason'
        else 'and due at no time'
      end) as complaint
    from sagacity.operation o left join sagacity.worker w on w.id = o.owner and w.dead_at is null
    where
      o.state not in ('succeeded', 'failed', 'compensated')
      and case
        when o.owner is not null then w.id is null
        when o.state = 'escalated' then o.reason is null
        else o.due_at is null
      end`;
  return lost.map(({ complaint }) => complaint).toSorted();
}
