/**
 * What it means that a server refuses a login or a statement: what is wrong, what it is about, and what to do. The
 * server is the authority, and tells by SQLSTATE.
 */

import type { CheckName } from '../../domain/checkup.ts';
import { isSagacityError, type SagacityError, schemaOutdated, storeUnusable } from '../../domain/errors.ts';
import { sqlstateOf } from './faults.ts';

/** Something that keeps the store from working, by what it is about. */
export interface Trouble {
  readonly check: CheckName;
  readonly error: SagacityError;
  /** For who set it up, where that of the error is for who called. */
  readonly remedy?: string;
}

/** What made it impossible to begin: something that trying again will not mend, or `error` as it is. */
export function causeOf(error: unknown, schema: string): unknown {
  return troubleOf(error, schema)?.error ?? error;
}

/** Null: the error says all that is known. */
export function troubleOf(error: unknown, schema: string): Trouble | null {
  return isSagacityError(error, 'STORE_UNAVAILABLE') ? troubleOfNoSession(error) : troubleOfRefusal(error, schema);
}

/** A login or a database that is refused. */
function troubleOfNoSession(error: SagacityError): Trouble | null {
  const sqlstate = sqlstateOf(error) ?? '';
  if (sqlstate === '53300') return { check: 'pool', error, remedy: MAKE_ROOM };
  const refusal = refusals.find(({ states }) => states.test(sqlstate));
  if (refusal === undefined) return null;
  const { check, what, remedy } = refusal;
  return { check, error: storeUnusable(`${what} (SQLSTATE ${sqlstate}).`, remedy, { sqlstate }, error) };
}

const MAKE_ROOM =
  'No connection is left: end sessions, or raise max_connections or the connection limit of the user or the database.';

export const THROUGH_A_POOLER = 'Write postgresStore({ url, pooler: true }), or give the url of the server itself.';

/** What a server says instead of beginning a session. */
const refusals: readonly {
  readonly states: RegExp;
  readonly check: CheckName;
  readonly what: string;
  readonly remedy: string;
}[] = [
  {
    states: /^(28...|42501)$/,
    check: 'role',
    what: 'The server refused the login',
    remedy: 'Check user, password and pg_hba.conf.',
  },
  {
    states: /^3D000$/,
    check: 'database',
    what: 'The database of the url does not exist',
    remedy: 'Create it, or correct the url.',
  },
  {
    states: /^08P01$/,
    check: 'pooler',
    what: 'The settings of a session are refused: a transaction pooler is in between',
    remedy: THROUGH_A_POOLER,
  },
  {
    states: /^(42704|22023)$/,
    check: 'database',
    what: 'The server does not know a setting in the url, or its value',
    remedy: 'It stands behind the question mark: take that one out, and leave sslmode.',
  },
];

/** Tables, functions or triggers are there already, or ours lack a column: whoever made them was not a migration. */
const STATES_OF_FOREIGN_TABLES = ['42P07', '42723', '42710', '42703'];

/** A statement that is refused: rights that are lacking, or tables that are another's. */
function troubleOfRefusal(error: unknown, schema: string): Trouble | null {
  const sqlstate = sqlstateOf(error) ?? '';
  if (sqlstate === '42501') {
    return {
      check: 'role',
      error: storeUnusable(
        `The user of the url lacks rights on the schema ${schema} (SQLSTATE ${sqlstate}).`,
        'Give the url of its owner; before the first migration, of a user who may create schemas in this database.',
        { schema, sqlstate },
        error,
      ),
    };
  }
  if (STATES_OF_FOREIGN_TABLES.includes(sqlstate)) {
    return {
      check: 'database',
      error: schemaOutdated(
        `The schema ${schema} holds tables that no migration of Sagacity made (SQLSTATE ${sqlstate}).`,
        'Name a schema of its own, or move those tables away; nothing was changed.',
        { schema, sqlstate },
      ),
    };
  }
  return null;
}
