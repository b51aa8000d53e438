/** Hand-overs on their way in: appended by anyone, found by the worker that owns the operation. */

import { sql } from 'drizzle-orm';
import type { Handover, OperationRef } from '../../ports/store.ts';
import { answers, type Executor } from './executor.ts';
import { handover as handoverTable, operation } from './schema.ts';
import { storeNow } from './store-now.ts';

/** Its key (handover_pk) makes repeating it harmless: the first body stays. */
export async function appendHandover(execute: Executor, handover: Handover): Promise<void> {
  await execute(sql`
    insert into ${handoverTable} (tenant, operation, id, body, at)
    values (
      ${handover.tenant}::text,
      ${handover.id}::text,
      ${handover.handoverId}::text,
      ${JSON.stringify(handover.body)}::text::jsonb,
      ${storeNow}
    )
    on conflict (tenant, operation, id) do nothing`);
}

/** Operations of `worker` for which hand-overs wait, the longest waiting first. */
export async function readHandedOver(execute: Executor, worker: string, limit: number): Promise<OperationRef[]> {
  return await answers<OperationRef>(
    execute,
    sql`
      select json_build_object('tenant', o.tenant, 'id', o.id)::text as answer
      from ${operation} o join ${handoverTable} h on h.tenant = o.tenant and h.operation = o.id
      where o.owner = ${worker}::text
      group by o.tenant, o.id
      order by min(h.seq)
      limit ${limit}::int`,
  );
}
