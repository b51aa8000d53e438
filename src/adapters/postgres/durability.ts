/**
 * Whether a server keeps what it has acknowledged, when it crashes and when a standby takes its place. Everything here
 * is a warning: Sagacity notices a fail-over and verifies what may be lost, but it cannot get back what nobody has.
 */

import { sql } from 'drizzle-orm';
import { type CheckupFinding, sound, warning } from '../../domain/checkup.ts';
import { answerOf, type Database } from './executor.ts';

interface Facts {
  /** As it is for this user in this database. */
  readonly commits: string;
  readonly fsync: boolean;
  readonly fullPages: boolean;
  readonly named: string;
  readonly standbys: number;
  readonly synchronous: number;
  /** Standbys of which this user is not told more than that they are there. */
  readonly unseen: number;
}

export async function durability(database: Database): Promise<readonly CheckupFinding[]> {
  const facts = await answerOf<Facts>(
    database,
    'check',
    sql`
      select json_build_object(
        'commits', current_setting('synchronous_commit'),
        'fsync', current_setting('fsync')::boolean,
        'fullPages', current_setting('full_page_writes')::boolean,
        'named', current_setting('synchronous_standby_names'),
        'standbys', count(r.pid),
        'synchronous', count(r.pid) filter (where r.sync_state in ('sync', 'quorum')),
        'unseen', count(r.pid) filter (where r.sync_state is null)
      )::text as answer
      from pg_stat_replication r
      where r.state is distinct from 'backup'`,
  );
  if (facts === null) throw new TypeError('The server answered nothing about its standbys.');
  const lost = [atCrash(facts), atFailover(facts)].flatMap((found) => found ?? []);
  if (lost.length > 0) return lost;
  return [sound('standby', `What is acknowledged is on disk${facts.standbys > 0 ? ', and on a standby' : ''}.`)];
}

function atCrash({ commits, fsync, fullPages }: Facts): CheckupFinding | null {
  const off = [
    ...(commits === 'off' ? ['synchronous_commit'] : []),
    ...(fsync ? [] : ['fsync']),
    ...(fullPages ? [] : ['full_page_writes']),
  ];
  if (off.length === 0) return null;
  const are = off.length === 1 ? 'is' : 'are';
  return warning(
    'standby',
    `${off.join(' and ')} ${are} off: a crash loses commits that the server has acknowledged.`,
    `Turn ${off.length === 1 ? 'it' : 'them'} on, for the user of the url or for the server.`,
  );
}

function atFailover({ commits, named, standbys, synchronous, unseen }: Facts): CheckupFinding | null {
  if (standbys === 0 || commits === 'off') return null;
  const many = standbys === 1 ? 'one standby' : `${standbys} standbys`;
  if (commits === 'local') {
    return warning(
      'standby',
      `synchronous_commit is local: of ${many}, none need have what the server has acknowledged.`,
      AWAIT_A_STANDBY,
    );
  }
  if (named !== '' && synchronous > 0) return null;
  if (named !== '' && unseen > 0) {
    return warning(
      'standby',
      `There ${standbys === 1 ? 'is' : 'are'} ${many}; whether one is synchronous cannot be seen.`,
      'Grant pg_monitor to the user of the url, or look at pg_stat_replication as another one.',
    );
  }
  return warning(
    'standby',
    `There ${standbys === 1 ? 'is' : 'are'} ${many}, none of them synchronous: a fail-over loses commits that the server has acknowledged.`,
    AWAIT_A_STANDBY,
  );
}

const AWAIT_A_STANDBY =
  'Name a synchronous one (synchronous_standby_names) and leave synchronous_commit on; or see that verifyAfterFailover ' +
  'is longer than what a fail-over can lose.';
