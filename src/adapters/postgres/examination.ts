/**
 * Examines the database of a store, whether that is open or not: everything a start would refuse, listed instead of
 * thrown, and what a start bears with although it may cost something. It has a connection of its own, and writes
 * nothing. The server is the authority; what it does not tell this user is said to be unseen.
 */

import { sql } from 'drizzle-orm';
import { type CheckName, type CheckupFinding, fault, sound, warning } from '../../domain/checkup.ts';
import { isSagacityError } from '../../domain/errors.ts';
import type { Examining } from '../../ports/store.ts';
import {
  type CheckOptions,
  lacking,
  rightsTrouble,
  type ServerFacts,
  serverFacts,
  serverTroubles,
  timelineTrouble,
} from './check.ts';
import { durability } from './durability.ts';
import { answerOf, type Database } from './executor.ts';
import { migrationsMissing } from './migrate.ts';
import { troubleOf } from './refusals.ts';
import { room } from './room.ts';
import { epochMs, storeNow } from './store-now.ts';

export interface Examined extends CheckOptions {
  /** How many connections the store may have, and how many of them it has now, that of the examination included. */
  readonly connections: number;
  readonly connected: () => number;
  /** Whether a start applies missing migrations. */
  readonly migrates: boolean;
}

/** What a look goes by. */
interface Sight {
  readonly database: Database;
  readonly store: Examined;
  readonly asking: Examining;
  readonly facts: ServerFacts;
  /** The user may not do all that is needed. */
  readonly isBarred: () => boolean;
}

type Look = (sight: Sight) => Promise<readonly CheckupFinding[]>;

/** Never rejects because of what it finds. What cannot be told because of a fault is left out. */
export async function examination(
  database: Database,
  store: Examined,
  asking: Examining,
): Promise<readonly CheckupFinding[]> {
  const findings: CheckupFinding[] = [];
  let facts: ServerFacts;
  try {
    facts = await serverFacts(database, store.schema);
  } catch (error) {
    return [thrown(error, 'database', store.schema)];
  }
  const isBarred = () => findings.some(({ check, level }) => check === 'role' && level === 'fault');
  for (const [about, look] of looks) {
    try {
      findings.push(...(await look({ database, store, asking, facts, isBarred })));
    } catch (error) {
      findings.push(thrown(error, about, store.schema));
      if (isSagacityError(error, 'STORE_UNAVAILABLE')) break;
    }
  }
  return findings;
}

/** What the server said instead of an answer, or that it said nothing. */
function thrown(error: unknown, about: CheckName, schema: string): CheckupFinding {
  const trouble = troubleOf(error, schema);
  if (trouble !== null) return fault(trouble.check, trouble.error, trouble.remedy);
  return isSagacityError(error, 'STORE_UNAVAILABLE')
    ? fault('database', error, 'Start the server, or correct the url or what is in between.')
    : fault(about, error);
}

async function server({ database, store, facts }: Sight): Promise<readonly CheckupFinding[]> {
  const timeline = facts.recovering ? null : await timelineTrouble(database);
  const troubles = [...serverTroubles(facts, store), ...(timeline === null ? [] : [timeline])];
  const isSound = (name: CheckName) => troubles.every(({ check }) => check !== name);
  const pooler = store.pooler ? 'Nothing depends on a session.' : 'The settings of a session reach the server.';
  return [
    ...troubles.map(({ check, error }) => fault(check, error)),
    ...(isSound('database') ? [sound('database', `PostgreSQL ${facts.version}, database ${facts.database}.`)] : []),
    ...(isSound('pooler') ? [sound('pooler', pooler)] : []),
  ];
}

async function rights({ database, store, facts, isBarred }: Sight): Promise<readonly CheckupFinding[]> {
  if (isBarred()) return [];
  const trouble = await rightsTrouble(database, store.schema);
  if (trouble !== null) return [fault(trouble.check, trouble.error)];
  return [sound('role', `User ${facts.user} has the rights that are needed${facts.usage === null ? ' so far' : ''}.`)];
}

async function tables({ database, store, isBarred }: Sight): Promise<readonly CheckupFinding[]> {
  if (isBarred()) return [];
  const { schema, migrates } = store;
  const missing = await migrationsMissing(database.execute, schema);
  if (missing.length === 0) return [sound('database', `Schema ${schema} is up to date.`)];
  if (migrates) return [sound('database', `Schema ${schema} is brought up to date by the start.`)];
  return [fault('database', lacking(schema, missing))];
}

/** Further apart than this, what people read here and in the database does not go together. */
const APART_MS = 5_000;

/** The database's time, asked for between two looks at the clock: it may have been told at any moment in between. */
async function clock({ database, asking }: Sight): Promise<readonly CheckupFinding[]> {
  const before = asking.clock.now();
  const now = await answerOf<number>(
    database,
    'check',
    sql`select to_json(${epochMs('s.now')})::text as answer from (select ${storeNow} as now) s`,
  );
  if (now === null) throw new TypeError('The server did not tell the time.');
  const after = asking.clock.now();
  const aheadMs = (before + after) / 2 - now;
  const isApart = Math.abs(aheadMs) - (after - before) / 2 > APART_MS;
  if (!isApart) {
    return [sound('clock', `This process and the database agree about the time, within ${APART_MS / 1_000} s.`)];
  }
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  return [
    warning(
      'clock',
      `The clock of this process is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database's.`,
      'Have both machines keep time (NTP). What is due and what is proven goes by the database; what people read of ' +
        'this process, in logs and at providers, does not.',
    ),
  ];
}

const looks: readonly (readonly [CheckName, Look])[] = [
  ['database', server],
  ['role', rights],
  ['database', tables],
  ['clock', clock],
  ['standby', async ({ database, facts }) => (facts.recovering ? [] : await durability(database))],
  ['pool', ({ database, store, asking }) => room(database, { ...store, connected: store.connected(), ...asking })],
];
