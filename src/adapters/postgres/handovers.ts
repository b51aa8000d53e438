/** Hand-overs on their way in: appended by anyone, found by the worker that owns the aggregate. */

import { sql } from 'drizzle-orm';
import type { Handover, OperationRef } from '../../ports/store.ts';
import { answers, carryOut, type Database } from './executor.ts';
import { storeNow } from './store-now.ts';

/** Its key (handover_pk) makes repeating it harmless: the first body stays. */
export async function appendHandover(database: Database, handover: Handover): Promise<void> {
  await carryOut(
    database,
    'hand-over',
    sql`
    insert into ${database.tables.handover} (tenant, aggregate, id, body, at)
    values (
      ${handover.tenant}::text,
      ${handover.id}::text,
      ${handover.handoverId}::text,
      ${JSON.stringify(handover.body)}::text::jsonb,
      ${storeNow}
    )
    on conflict (tenant, aggregate, id) do nothing`,
  );
}

/** Operations and sagas of `worker` for which hand-overs wait, the longest waiting first. */
export async function readHandedOver(database: Database, worker: string, limit: number): Promise<OperationRef[]> {
  const { operation, saga, handover } = database.tables;
  return await answers<OperationRef>(
    database,
    'handed-over',
    sql`
      select json_build_object('tenant', owned.tenant, 'id', owned.id)::text as answer
      from
        (
          select o.tenant, o.id from ${operation} o where o.owner = ${worker}::text
          union all
          select s.tenant, s.id from ${saga} s where s.owner = ${worker}::text
        ) as owned
        join ${handover} h on h.tenant = owned.tenant and h.aggregate = owned.id
      group by owned.tenant, owned.id
      order by min(h.seq)
      limit ${limit}::int`,
  );
}
