/** Hand-overs on their way in: appended by anyone, found by the worker that owns the operation. */

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
    insert into ${database.tables.handover} (tenant, operation, id, body, at)
    values (
      ${handover.tenant}::text,
      ${handover.id}::text,
      ${handover.handoverId}::text,
      ${JSON.stringify(handover.body)}::text::jsonb,
      ${storeNow}
    )
    on conflict (tenant, operation, id) do nothing`,
  );
}

/** Operations of `worker` for which hand-overs wait, the longest waiting first. */
export async function readHandedOver(database: Database, worker: string, limit: number): Promise<OperationRef[]> {
  const { operation, handover } = database.tables;
  return await answers<OperationRef>(
    database,
    'handed-over',
    sql`
      select json_build_object('tenant', o.tenant, 'id', o.id)::text as answer
      from ${operation} o join ${handover} h on h.tenant = o.tenant and h.operation = o.id
      where o.owner = ${worker}::text
      group by o.tenant, o.id
      order by min(h.seq)
      limit ${limit}::int`,
  );
}
