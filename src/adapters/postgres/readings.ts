/**
 * The questions that change nothing. Each names its tenant, except the lists of doubts, of escalated sagas and of versions
 * when asked for all tenants, and the list of what settled, which is always of all.
 */

import { type SQL, sql } from 'drizzle-orm';
import type {
  DoubtQuery,
  EscalatedQuery,
  EscalatedSagaRow,
  Identity,
  InFlightQuery,
  OperationRef,
  OperationRow,
  SagaIdentity,
  SagaRecord,
  SagaRow,
  SagaVersionRow,
  SettledQuery,
  StoredRecord,
  VersionQuery,
} from '../../ports/store.ts';
import { answerOf, answers, type Database } from './executor.ts';
import { clock, operationRow, sagaRow } from './rows.ts';
import { epochMs } from './store-now.ts';

export async function readOperation(database: Database, ref: OperationRef): Promise<OperationRow | null> {
  return await answerOf<OperationRow>(
    database,
    'read',
    sql`
      select ${operationRow(database.tables)}
      from ${database.tables.operation} o cross join ${clock}
      where o.tenant = ${ref.tenant}::text and o.id = ${ref.id}::text`,
  );
}

export async function readOperationByIdentity(database: Database, identity: Identity): Promise<OperationRow | null> {
  return await answerOf<OperationRow>(
    database,
    'read-by-identity',
    sql`
      select ${operationRow(database.tables)}
      from ${database.tables.operation} o cross join ${clock}
      where
        o.tenant = ${identity.tenant}::text
        and o.action = ${identity.action}::text
        and o.key = ${identity.key}::text`,
  );
}

/** The fields of a record, of the row `a`. */
const recordFields = sql`
          'revision', a.revision,
          'n', a.n,
          'kind', a.kind,
          'attempt', a.number,
          'at', ${epochMs('a.at')},
          'body', a.body`;

export async function readRecords(database: Database, ref: OperationRef): Promise<StoredRecord[]> {
  return await answers<StoredRecord>(
    database,
    'records',
    sql`
      select
        json_build_object(${recordFields})::text as answer
      from ${database.tables.attempt} a
      where a.tenant = ${ref.tenant}::text and a.subject = ${ref.id}::text
      order by a.revision, a.n`,
  );
}

export async function readSaga(database: Database, ref: OperationRef): Promise<SagaRow | null> {
  return await answerOf<SagaRow>(
    database,
    'read-saga',
    sql`
      select ${sagaRow(database.tables)}
      from ${database.tables.saga} s cross join ${clock}
      where s.tenant = ${ref.tenant}::text and s.id = ${ref.id}::text`,
  );
}

export async function readSagaByIdentity(database: Database, identity: SagaIdentity): Promise<SagaRow | null> {
  return await answerOf<SagaRow>(
    database,
    'read-saga-by-identity',
    sql`
      select ${sagaRow(database.tables)}
      from ${database.tables.saga} s cross join ${clock}
      where
        s.tenant = ${identity.tenant}::text
        and s.name = ${identity.name}::text
        and s.key = ${identity.key}::text`,
  );
}

/** Each subject's records are a query of their own, which OFFSET keeps apart: joined, a plan would go by the tenant. */
export async function readSagaRecords(database: Database, ref: OperationRef): Promise<SagaRecord[]> {
  const { attempt, operation } = database.tables;
  return await answers<SagaRecord>(
    database,
    'saga-records',
    sql`
      select
        json_build_object(${recordFields}, 'operation', nullif(a.subject, ${ref.id}::text))::text as answer
      from
        (
          select ${ref.id}::text as id
          union all
          select o.id from ${operation} o where o.tenant = ${ref.tenant}::text and o.saga = ${ref.id}::text
        ) as subject
        cross join lateral (
          select * from ${attempt} f where f.tenant = ${ref.tenant}::text and f.subject = subject.id offset 0
        ) as a
      order by a.seq`,
  );
}

/** Pages by keyset over `doubted_at`, which outlives the doubt: the row that a page ended with need not be in doubt. */
export async function readDoubts(database: Database, query: DoubtQuery): Promise<OperationRow[]> {
  const { tenant, after, limit } = query;
  const beyond =
    after === null
      ? sql`true`
      : sql`
          (o.doubted_at, o.tenant, o.id) > (
            select coalesce(l.doubted_at, '-infinity'), l.tenant, l.id
            from ${database.tables.operation} l
            where l.tenant = ${after.tenant}::text and l.id = ${after.id}::text
          )`;
  return await answers<OperationRow>(
    database,
    'doubts',
    sql`
      select ${operationRow(database.tables)}
      from ${database.tables.operation} o cross join ${clock}
      where
        (o.state in ('unknown', 'reconciling', 'escalated') or o.contradicted_at is not null)
        and ${isOf(sql`o.tenant`, tenant)}
        and ${beyond}
      order by o.doubted_at, o.tenant, o.id
      limit ${limit}::int`,
  );
}

/** Pages by keyset over `since`, from the place that the page before ended at, whatever stands there. */
export async function readEscalatedSagas(database: Database, query: EscalatedQuery): Promise<EscalatedSagaRow[]> {
  const { tenant, after, limit } = query;
  const beyond =
    after === null
      ? sql`true`
      : sql`
          (s.since, s.tenant, s.id)
            > (to_timestamp(${after.since}::float8 / 1000), ${after.tenant}::text, ${after.id}::text)`;
  return await answers<EscalatedSagaRow>(
    database,
    'escalated-sagas',
    sql`
      select
        json_build_object(
          'tenant', s.tenant,
          'id', s.id,
          'name', s.name,
          'version', s.version,
          'key', s.key,
          'reason', s.reason,
          'since', ${epochMs('s.since')},
          'dueAt', ${epochMs('s.due_at')},
          'format', s.format,
          'snapshot', s.snapshot
        )::text as answer
      from ${database.tables.saga} s
      where
        s.state = 'escalated'
        and ${isOf(sql`s.tenant`, tenant)}
        and ${beyond}
      order by s.since, s.tenant, s.id
      limit ${limit}::int`,
  );
}

/** What `saga_in_flight` holds: nothing that has settled. */
const isInFlight = sql`s.state in ('in-progress', 'waiting', 'compensating', 'escalated')`;

/** Pages by keyset over tenant and id. */
export async function readSagasInFlight(database: Database, query: InFlightQuery): Promise<SagaRow[]> {
  const { tenant, name, version, after, limit } = query;
  const beyond = after === null ? sql`true` : sql`(s.tenant, s.id) > (${after.tenant}::text, ${after.id}::text)`;
  return await answers<SagaRow>(
    database,
    'sagas-in-flight',
    sql`
      select ${sagaRow(database.tables)}
      from ${database.tables.saga} s cross join ${clock}
      where
        ${isInFlight}
        and s.name = ${name}::text
        and s.version = ${version}::int
        and ${tenant === null ? sql`true` : sql`s.tenant = ${tenant}::text`}
        and ${beyond}
      order by s.tenant, s.id
      limit ${limit}::int`,
  );
}

export async function readSagaVersions(database: Database, { tenant }: VersionQuery): Promise<SagaVersionRow[]> {
  return await answers<SagaVersionRow>(
    database,
    'saga-versions',
    sql`
      select
        json_build_object(
          'name', s.name,
          'version', s.version,
          'inFlight', count(*),
          'escalated', count(*) filter (where s.state = 'escalated')
        )::text as answer
      from ${database.tables.saga} s
      where ${isInFlight} and ${isOf(sql`s.tenant`, tenant)}
      group by s.name, s.version
      order by s.name collate "C", s.version`,
  );
}

/** Null: of every one. */
function isOf(column: SQL, tenant: string | null): SQL {
  // Under a collation that no index has: a plan that went by the tenant would read everything of it, not the list.
  return tenant === null ? sql`true` : sql`${column} collate "C" = ${tenant}::text`;
}

/** Pages by keyset over `since`. A row that has moved on has another one, and what follows it begins anew. */
export async function readSettledBetween(database: Database, query: SettledQuery): Promise<OperationRow[]> {
  const { actions, from, to, limit, after } = query;
  const start = sql`to_timestamp(${from}::float8 / 1000)`;
  const end = sql`to_timestamp(${to}::float8 / 1000)`;
  const beyond =
    after === null
      ? sql`true`
      : sql`
          (o.since, o.tenant, o.id) > (
            select
              case
                when l.state in ('succeeded', 'failed', 'compensated') and l.since <= ${end} then l.since
                else '-infinity'
              end,
              l.tenant,
              l.id
            from ${database.tables.operation} l
            where l.tenant = ${after.tenant}::text and l.id = ${after.id}::text
          )`;
  // Under a collation that no index has: a plan that went by the action would read everything of it, not the span.
  return await answers<OperationRow>(
    database,
    'settled-between',
    sql`
      select ${operationRow(database.tables)}
      from ${database.tables.operation} o cross join ${clock}
      where
        o.state in ('succeeded', 'failed', 'compensated')
        and o.since >= ${start}
        and o.since <= ${end}
        and o.action collate "C" = any (
          array(select jsonb_array_elements_text(${JSON.stringify(actions)}::text::jsonb))
        )
        and ${beyond}
      order by o.since, o.tenant, o.id
      limit ${limit}::int`,
  );
}
