/** The questions that change nothing. Each names its tenant, except the list of doubts when asked for all tenants. */

import { sql } from 'drizzle-orm';
import type { DoubtQuery, Identity, OperationRef, OperationRow, StoredRecord } from '../../ports/store.ts';
import { answerOf, answers, type Executor } from './executor.ts';
import { clock, operationRow } from './operation-row.ts';
import { attempt, operation } from './schema.ts';
import { epochMs } from './store-now.ts';

export async function readOperation(execute: Executor, ref: OperationRef): Promise<OperationRow | null> {
  return await answerOf<OperationRow>(
    execute,
    sql`
      select ${operationRow}
      from ${operation} o cross join ${clock}
      where o.tenant = ${ref.tenant}::text and o.id = ${ref.id}::text`,
  );
}

export async function readOperationByIdentity(execute: Executor, identity: Identity): Promise<OperationRow | null> {
  return await answerOf<OperationRow>(
    execute,
    sql`
      select ${operationRow}
      from ${operation} o cross join ${clock}
      where
        o.tenant = ${identity.tenant}::text
        and o.action = ${identity.action}::text
        and o.key = ${identity.key}::text`,
  );
}

export async function readRecords(execute: Executor, ref: OperationRef): Promise<StoredRecord[]> {
  return await answers<StoredRecord>(
    execute,
    sql`
      select
        json_build_object(
          'revision', a.revision,
          'n', a.n,
          'kind', a.kind,
          'attempt', a.number,
          'at', ${epochMs('a.at')},
          'body', a.body
        )::text as answer
      from ${attempt} a
      where a.tenant = ${ref.tenant}::text and a.operation = ${ref.id}::text
      order by a.revision, a.n`,
  );
}

/** Pages by keyset over `doubted_at`, which outlives the doubt: the row that a page ended with need not be in doubt. */
export async function readDoubts(execute: Executor, query: DoubtQuery): Promise<OperationRow[]> {
  const { tenant, after, limit } = query;
  const ofTenant = tenant === null ? sql`true` : sql`o.tenant = ${tenant}::text`;
  const beyond =
    after === null
      ? sql`true`
      : sql`
          (o.doubted_at, o.tenant, o.id) > (
            select coalesce(l.doubted_at, '-infinity'), l.tenant, l.id
            from ${operation} l
            where l.tenant = ${after.tenant}::text and l.id = ${after.id}::text
          )`;
  return await answers<OperationRow>(
    execute,
    sql`
      select ${operationRow}
      from ${operation} o cross join ${clock}
      where
        (o.state in ('unknown', 'reconciling', 'escalated') or o.contradicted_at is not null)
        and ${ofTenant}
        and ${beyond}
      order by o.doubted_at, o.tenant, o.id
      limit ${limit}::int`,
  );
}
