/**
 * Whether a server keeps what it has acknowledged, when it crashes and when a standby takes its place. What may be lost
 * is a warning: Sagacity notices a fail-over and verifies it, but it cannot get back what nobody has.
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
  if (commits === 'off') return null;
  const isAwaited = named !== '' && commits !== 'local';
  if (isAwaited && synchronous > 0) return null;
  if (isAwaited && unseen > 0) {
    return warning(
      'standby',
      'It cannot be seen whether a standby is synchronous.',
      'Grant pg_monitor to the user of the url, or look at pg_stat_replication as another one.',
    );
  }
  if (isAwaited) return awaitedForEver(named);
  if (standbys === 0) return null;
  const isSetTo = commits === 'local' ? 'synchronous_commit is local' : 'synchronous_standby_names is empty';
  return warning(
    'standby',
    `${isSetTo}: a fail-over to ${standbys === 1 ? 'the standby' : `one of ${standbys} standbys`} loses commits that the ` +
      'server has acknowledged.',
    'Name a synchronous standby (synchronous_standby_names) and leave synchronous_commit on; or see that ' +
      'verifyAfterFailover is longer than what a fail-over can lose.',
  );
}

function awaitedForEver(named: string): CheckupFinding {
  return {
    ...{ check: 'standby', level: 'fault' },
    says: `synchronous_standby_names is '${named}', and no such standby is connected: every commit waits for one.`,
    remedy: 'Connect it again, or reset synchronous_standby_names and reload the configuration.',
  };
}
