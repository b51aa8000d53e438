/**
 * What a statement needs from a driver: run one text with its values and give its rows. Every statement of this folder
 * has a name, which opens its text as a comment, so that whoever looks at the database sees what runs; and it answers
 * with at most one text column named `answer`, holding JSON, because drivers disagree about every richer type (PGlite
 * gives a bigint as number or BigInt by its value, `postgres` as text, and dates both ways).
 */

import { type SQL, sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Tables } from './schema.ts';

/** Every statement that runs outside of `open` and `migrate`, by what the database does. */
export const statementNames = [
  'turn',
  'saga-turn',
  'claim-due',
  'claim-in-turn',
  'claim-one',
  'claim-sagas-due',
  'claim-sagas-in-turn',
  'claim-saga',
  'enlist',
  'renew',
  'bury',
  'retire',
  'hand-over',
  'handed-over',
  'signal',
  'read-signal',
  'held-locks',
  'read',
  'read-by-identity',
  'read-saga',
  'read-saga-by-identity',
  'saga-records',
  'records',
  'doubts',
  'escalated-sagas',
  'saga-versions',
  'sagas-in-flight',
  'settled-between',
] as const;

export type StatementName = (typeof statementNames)[number] | 'transaction' | 'migration' | 'check';

/** One statement on its way to a driver. */
export interface Statement {
  readonly name: StatementName;
  readonly query: SQL;
}

export type Rows = readonly Readonly<Record<string, unknown>>[];

/** Runs one statement. Rejects with an error of `faults.ts`, never with the driver's own. */
export type Executor = (statement: Statement) => Promise<Rows>;

/** Somewhere to run statements, and the tables they run on. */
export interface Database {
  readonly execute: Executor;
  readonly tables: Tables;
}

const dialect = new PgDialect();

/** The text of a statement and its values, for drivers that take them apart. */
export function rendered({ query }: Statement): { readonly text: string; readonly values: readonly unknown[] } {
  const { sql: text, params: values } = dialect.sqlToQuery(query);
  return { text, values };
}

/** Runs one statement and reads its answers. `Answer` is what the statement's own SQL builds. */
export async function answers<Answer>({ execute }: Database, name: StatementName, query: SQL): Promise<Answer[]> {
  const rows = await execute(statement(name, query));
  return rows.map(({ answer }) => {
    if (typeof answer !== 'string') throw new TypeError('A statement of Sagacity must answer with text.');
    // The statement that the caller wrote builds exactly this JSON; the conformance suite compares it field by field.
    return JSON.parse(answer) as Answer;
  });
}

/** Like {@link answers}, for statements that answer with one row or none. */
export async function answerOf<Answer>(database: Database, name: StatementName, query: SQL): Promise<Answer | null> {
  const [answer = null] = await answers<Answer>(database, name, query);
  return answer;
}

/** Runs one statement that answers nothing. */
export async function carryOut({ execute }: Database, name: StatementName, query: SQL): Promise<void> {
  await execute(statement(name, query));
}

function statement(name: StatementName, query: SQL): Statement {
  return { name, query: sql`${sql.raw(`/* sagacity ${name} */ `)}${query}` };
}
