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
  migrationsTrouble,
  rightsTrouble,
  type ServerFacts,
  serverFacts,
  serverTroubles,
  timelineTrouble,
} from './check.ts';
import { durability } from './durability.ts';
import { answerOf, type Database } from './executor.ts';
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

/** Never rejects because of what it finds. What cannot be told because of a fault is left out. */
export async function examination(
  database: Database,
  store: Examined,
  asking: Examining,
): Promise<readonly CheckupFinding[]> {
  const findings: CheckupFinding[] = [];
  /** False: the database was not to be reached, and will not be for the next question. */
  const find = async (check: CheckName, look: () => Promise<readonly CheckupFinding[]>): Promise<boolean> => {
    try {
      findings.push(...(await look()));
      return true;
    } catch (error) {
      const trouble = troubleOf(error, store.schema);
      const isAway = isSagacityError(error, 'STORE_UNAVAILABLE');
      if (trouble !== null) findings.push(fault(trouble.check, trouble.error, trouble.remedy));
      else findings.push(fault(isAway ? 'database' : check, error, isAway ? REACH_IT : undefined));
      return !isAway;
    }
  };

  let facts: ServerFacts | null = null;
  await find('database', async () => {
    facts = await serverFacts(database, store.schema);
    return [];
  });
  if (facts === null) return findings;
  const known: ServerFacts = facts;
  const looks: readonly [CheckName, () => Promise<readonly CheckupFinding[]>][] = [
    ['database', () => aboutDatabase(database, store, known)],
    ['clock', async () => [await clock(database, asking)]],
    ['standby', async () => (known.recovering ? [] : await durability(database))],
    ['pool', async () => await room(database, { ...store, connected: store.connected(), ...asking })],
  ];
  for (const [check, look] of looks) if (!(await find(check, look))) break;
  return findings;
}

const REACH_IT = 'Start the server, or correct the url or what is in between.';

/** What a start would refuse, of database, user and pooler. */
async function aboutDatabase(
  database: Database,
  store: Examined,
  facts: ServerFacts,
): Promise<readonly CheckupFinding[]> {
  const { schema, pooler, migrates } = store;
  const troubles = [...serverTroubles(facts, store)];
  const timeline = facts.recovering ? null : await timelineTrouble(database);
  if (timeline !== null) troubles.push(timeline);
  const rights = facts.usage === false ? null : await rightsTrouble(database, schema);
  if (rights !== null) troubles.push(rights);
  const isTrusted = troubles.every(({ check }) => check !== 'role');
  const migrations = isTrusted ? await migrationsTrouble(database, schema) : null;
  if (migrations !== null && !migrates) troubles.push(migrations);

  const findings = troubles.map(({ check, error }) => fault(check, error));
  const praise = (check: CheckName, says: string) => {
    if (troubles.every((trouble) => trouble.check !== check)) findings.push(sound(check, says));
  };
  const tables = !isTrusted
    ? ''
    : migrations === null
      ? `, schema ${schema} up to date`
      : `, schema ${schema} to be migrated`;
  praise('database', `PostgreSQL ${facts.version}, database ${facts.database}${tables}.`);
  praise('role', `User ${facts.user} has the rights that are needed${facts.usage === null ? ' so far' : ''}.`);
  praise('pooler', pooler ? 'Nothing depends on a session.' : 'The settings of a session reach the server.');
  return findings;
}

/** Further apart than this, what people read here and in the database does not go together. */
const APART_MS = 5_000;

/** The database's time, asked for between two looks at the clock: it may have been told at any moment in between. */
async function clock(database: Database, asking: Examining): Promise<CheckupFinding> {
  const before = asking.clock.now();
  const now = await answerOf<number>(
    database,
    'check',
    sql`
    select to_json(${epochMs('s.now')})::text as answer from (select ${storeNow} as now) s`,
  );
  const after = asking.clock.now();
  const aheadMs = (before + after) / 2 - (now ?? 0);
  const isApart = Math.abs(aheadMs) - (after - before) / 2 > APART_MS;
  if (!isApart)
    return sound('clock', `This process and the database agree about the time, within ${APART_MS / 1_000} s.`);
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  return warning(
    'clock',
    `The clock of this process is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the database's.`,
    'Have both machines keep time (NTP). What is due and what is proven goes by the database; what people read of this ' +
      'process, in logs and at providers, does not.',
  );
}
