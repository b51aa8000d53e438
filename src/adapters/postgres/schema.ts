/**
 * The tables of Sagacity as Drizzle knows them, in whatever schema they live; `drizzle/` holds the SQL generated from
 * here, and a test keeps the two equal. Every table that belongs to a tenant has the tenant in its keys. Identifiers
 * and keys are text, so that nothing is folded or padded; counters are bigint in number mode, far below 2^53.
 */

import { sql } from 'drizzle-orm';
import {
  bigint,
  index,
  integer,
  jsonb,
  pgSchema,
  primaryKey,
  smallint,
  text,
  timestamp,
  unique,
} from 'drizzle-orm/pg-core';
import { definitionInvalid } from '../../domain/errors.ts';
import type { Json } from '../../domain/json.ts';
import type { OperationState } from '../../domain/operation-state.ts';
import type { SagaState } from '../../domain/saga-state.ts';
import type { RecordKind, SignalState } from '../../ports/store.ts';

const instant = { withTimezone: true, mode: 'date' } as const;

/** The schema that is used when none is named. */
export const DEFAULT_SCHEMA = 'sagacity';

/** The tables of one schema. */
export type Tables = ReturnType<typeof tablesIn>;

/** The tables as they stand in the schema `name`, which {@link assertSchemaName} has let pass. */
export function tablesIn(name: string) {
  const namespace = pgSchema(name);

  /** The ledger: one row per logical effect. Its unique identity is what makes an effect happen once. */
  const operation = namespace.table(
    'operation',
    {
      tenant: text().notNull(),
      id: text().notNull(),
      // The saga it belongs to, the revision of that saga's turn which gave birth to it, and its place in that turn.
      saga: text(),
      sagaRevision: bigint('saga_revision', { mode: 'number' }),
      sagaN: integer('saga_n'),
      action: text().notNull(),
      key: text().notNull(),
      providerKey: text('provider_key').notNull(),
      fingerprint: text().notNull(),
      owner: text(),
      generation: bigint({ mode: 'number' }).notNull(),
      revision: bigint({ mode: 'number' }).notNull(),
      turn: text().notNull(),
      born: text().notNull(),
      state: text().$type<OperationState>().notNull(),
      since: timestamp(instant).notNull(),
      dueAt: timestamp('due_at', instant),
      createdAt: timestamp('created_at', instant).notNull(),
      firstStartedAt: timestamp('first_started_at', instant),
      sendBy: timestamp('send_by', instant),
      windowEndsAt: timestamp('window_ends_at', instant),
      reason: text(),
      contradictedAt: timestamp('contradicted_at', instant),
      // When the doubt began. Kept while one doubtful state follows another, and after the doubt has ended, so that a
      // list that was being paged through neither reorders nor loses its place.
      doubtedAt: timestamp('doubted_at', instant),
      input: jsonb().$type<Json>().notNull(),
      // How snapshot and output are written: see domain/format.ts.
      format: smallint().notNull(),
      snapshot: jsonb().$type<Json>().notNull(),
      output: jsonb().$type<Json>(),
    },
    (o) => [
      // What tells most comes first: a plan made before any statistics would else go by the tenant alone.
      primaryKey({ name: 'operation_pk', columns: [o.id, o.tenant] }),
      unique('operation_identity').on(o.key, o.action, o.tenant),
      index('operation_due').on(o.dueAt, o.tenant, o.id).where(sql`${o.owner} is null and ${o.dueAt} is not null`),
      index('operation_turn')
        .on(o.tenant, o.dueAt, o.id, o.format)
        .where(sql`${o.owner} is null and ${o.dueAt} is not null`),
      index('operation_owner').on(o.owner).where(sql`${o.owner} is not null`),
      index('operation_doubt')
        .on(o.doubtedAt, o.tenant, o.id)
        .where(sql`${o.state} in ('unknown', 'reconciling', 'escalated') or ${o.contradictedAt} is not null`),
      index('operation_settled')
        .on(o.since, o.tenant, o.id)
        .where(sql`${o.state} in ('succeeded', 'failed', 'compensated')`),
      index('operation_saga').on(o.saga, o.tenant).where(sql`${o.saga} is not null`),
    ],
  );

  /** One row per saga. Its operations are moved by its turns only, and all of them have its owner. */
  const saga = namespace.table(
    'saga',
    {
      tenant: text().notNull(),
      id: text().notNull(),
      name: text().notNull(),
      key: text().notNull(),
      version: integer().notNull(),
      hash: text().notNull(),
      fingerprint: text().notNull(),
      owner: text(),
      generation: bigint({ mode: 'number' }).notNull(),
      revision: bigint({ mode: 'number' }).notNull(),
      turn: text().notNull(),
      born: text().notNull(),
      state: text().$type<SagaState>().notNull(),
      since: timestamp(instant).notNull(),
      dueAt: timestamp('due_at', instant),
      // When each thing that it waits for is due, in milliseconds since the epoch.
      dues: jsonb().$type<Readonly<Record<string, number>>>().notNull(),
      createdAt: timestamp('created_at', instant).notNull(),
      reason: text(),
      input: jsonb().$type<Json>().notNull(),
      // Never older than that of one of its operations: who can read it can read them.
      format: smallint().notNull(),
      snapshot: jsonb().$type<Json>().notNull(),
      output: jsonb().$type<Json>(),
    },
    (s) => [
      primaryKey({ name: 'saga_pk', columns: [s.id, s.tenant] }),
      unique('saga_identity').on(s.key, s.name, s.tenant),
      index('saga_due').on(s.dueAt, s.tenant, s.id).where(sql`${s.owner} is null and ${s.dueAt} is not null`),
      index('saga_turn')
        .on(s.tenant, s.dueAt, s.id, s.format)
        .where(sql`${s.owner} is null and ${s.dueAt} is not null`),
      index('saga_owner').on(s.owner).where(sql`${s.owner} is not null`),
      // Of the few that have not settled, by the version that they run in.
      index('saga_in_flight')
        .on(s.name, s.version, s.tenant, s.id)
        .where(sql`${s.state} in ('in-progress', 'waiting', 'compensating', 'escalated')`),
      index('saga_escalated').on(s.since, s.tenant, s.id).where(sql`${s.state} = 'escalated'`),
    ],
  );

  /**
   * The history: what was recorded about each operation and each saga, which is the subject, appended by turns and never
   * changed (a trigger refuses).
   */
  const attempt = namespace.table(
    'attempt',
    {
      tenant: text().notNull(),
      subject: text().notNull(),
      revision: bigint({ mode: 'number' }).notNull(),
      n: integer().notNull(),
      kind: text().$type<RecordKind>().notNull(),
      number: integer(),
      at: timestamp(instant).notNull(),
      body: jsonb().$type<Json>().notNull(),
      // Tells in which order the records of a saga and of its operations were written.
      seq: bigint({ mode: 'number' }).generatedAlwaysAsIdentity({ name: 'attempt_seq' }).notNull(),
    },
    (a) => [primaryKey({ name: 'attempt_pk', columns: [a.tenant, a.subject, a.revision, a.n] })],
  );

  /** What was said by someone who does not own the aggregate, an operation or a saga, until its owner's turn takes it. */
  const handover = namespace.table(
    'handover',
    {
      tenant: text().notNull(),
      aggregate: text().notNull(),
      id: text().notNull(),
      body: jsonb().$type<Json>().notNull(),
      at: timestamp(instant).notNull(),
      seq: bigint({ mode: 'number' }).generatedAlwaysAsIdentity({ name: 'handover_seq' }).notNull(),
    },
    (h) => [primaryKey({ name: 'handover_pk', columns: [h.tenant, h.aggregate, h.id] })],
  );

  /**
   * What has been said to sagas by their customers' systems, once each, and what became of it. `saga` is the id of one that
   * need not be there yet; what was said stands in the hand-over, and then with the saga until it takes it.
   */
  const signal = namespace.table(
    'signal',
    {
      tenant: text().notNull(),
      saga: text().notNull(),
      name: text().notNull(),
      eventId: text('event_id').notNull(),
      fingerprint: text().notNull(),
      state: text().$type<SignalState>().notNull(),
      why: text(),
      at: timestamp(instant).notNull(),
      expiresAt: timestamp('expires_at', instant).notNull(),
    },
    (s) => [primaryKey({ name: 'signal_pk', columns: [s.saga, s.eventId, s.name, s.tenant] })],
  );

  /** What sagas hold of what they share with others, from their birth until they settle. */
  const lock = namespace.table(
    'lock',
    {
      tenant: text().notNull(),
      resource: text().notNull(),
      // The id of the saga.
      saga: text().notNull(),
      at: timestamp(instant).notNull(),
    },
    (l) => [primaryKey({ name: 'lock_pk', columns: [l.resource, l.tenant] }), index('lock_saga').on(l.saga, l.tenant)],
  );

  /** Who may own operations and sagas: a random id, the last renewal, and the end. A dead worker never lives again. */
  const worker = namespace.table(
    'worker',
    {
      id: text().primaryKey(),
      beatAt: timestamp('beat_at', instant).notNull(),
      deadAt: timestamp('dead_at', instant),
    },
    // The dead stay, and are not looked at again.
    (w) => [index('worker_living').on(w.id).where(sql`${w.deadAt} is null`)],
  );

  /** The timelines that workers have been enlisted on, one for each fail-over, and when the first was on each. */
  const timeline = namespace.table('timeline', {
    id: text().primaryKey(),
    seenAt: timestamp('seen_at', instant).notNull(),
  });

  /** Which migrations this database has, with the checksum of the SQL that ran. */
  const migration = namespace.table('migration', {
    number: integer().primaryKey(),
    name: text().notNull(),
    checksum: text().notNull(),
    appliedAt: timestamp('applied_at', instant).notNull().defaultNow(),
  });

  return { operation, saga, attempt, handover, signal, lock, worker, timeline, migration };
}

/**
 * The tables in the default schema, for queries of your own beside ours: read them, never write them. Tell drizzle-kit
 * to leave them alone with `schemaFilter`.
 *
 * @example
 * const open = await db.select({ id: tables.operation.id }).from(tables.operation).where(isNull(tables.operation.owner));
 */
export const tables: Tables = tablesIn(DEFAULT_SCHEMA);

/** Refuses with DEFINITION_INVALID what is no plain name of a schema, or one that belongs to everybody. */
export function assertSchemaName(name: string): void {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(name) && name !== 'public' && !name.startsWith('pg_')) return;
  throw definitionInvalid(
    `${JSON.stringify(name)} cannot be the schema of Sagacity.`,
    'Write a name of its own in lower-case letters, digits and underscores, such as sagacity.',
    { option: 'schema' },
  );
}
