/** Whether the connections that a store may open are enough for its work, and whether the server has them left. */

import { sql } from 'drizzle-orm';
import { type CheckupFinding, fault, sound, warning } from '../../domain/checkup.ts';
import { type SagacityError, storeUnusable } from '../../domain/errors.ts';
import { answerOf, type Database } from './executor.ts';

export interface Need {
  readonly connections: number;
  /** One is in between, which decides how many of them reach the server. */
  readonly pooler: boolean;
  /** Of those that the server counts as used, so many are this store's. */
  readonly connected: number;
  readonly concurrency: number;
}

/** Statements are shared, so that one connection carries many attempts; beyond this they would wait for each other. */
const ATTEMPTS_PER_CONNECTION = 16;

interface Facts {
  readonly most: number;
  readonly reserved: number;
  readonly used: number;
}

/** A store with a single connection does not start. */
export function tooFewToStart(connections: number): SagacityError | null {
  if (connections >= 2) return null;
  return storeUnusable(
    'One connection cannot carry the heartbeat of this worker while it does anything else.',
    'Write postgresStore({ url, connections: 2 }), or leave it at 6.',
    { connections },
  );
}

export async function room(database: Database, need: Need): Promise<readonly CheckupFinding[]> {
  const { connections, pooler, connected, concurrency } = need;
  const tooFew = tooFewToStart(connections);
  if (tooFew !== null) return [fault('pool', tooFew)];
  // Whoever may log in may see these counts, which those of pg_stat_activity are not.
  const facts = await answerOf<Facts>(
    database,
    'check',
    sql`
      select json_build_object(
        'most', current_setting('max_connections')::int,
        'reserved', current_setting('superuser_reserved_connections')::int
          + coalesce(current_setting('reserved_connections', true)::int, 0),
        'used', (select sum(d.numbackends) from pg_stat_database d)
      )::text as answer`,
  );
  if (facts === null) throw new TypeError('The server answered nothing about its connections.');
  const { most, reserved, used } = facts;
  const others = Math.max(0, used - connected);
  const left = Math.max(0, most - reserved - others);
  const found: CheckupFinding[] = [];
  const carrying = connections - 1;
  if (concurrency > carrying * ATTEMPTS_PER_CONNECTION) {
    found.push(
      warning(
        'pool',
        `The store has ${carrying} ${carrying === 1 ? 'connection' : 'connections'} beside that of its heartbeat, for ${concurrency} attempts at once.`,
        `Give postgresStore at least ${Math.ceil(concurrency / ATTEMPTS_PER_CONNECTION) + 1} connections, or lower concurrency.`,
      ),
    );
  }
  if (!pooler && connections > left) {
    found.push(
      warning(
        'pool',
        `The store may open ${connections} connections, and the server has ${left} left for it: of ${most}, ${reserved} are reserved and ${others} are others'.`,
        'Raise max_connections, lower connections, or end what holds them; count every process that is to run.',
      ),
    );
  }
  if (found.length > 0) return found;
  const whose = pooler ? 'the pooler decides how many reach the server' : `the server has ${left} left for it`;
  return [sound('pool', `The store may open ${connections} connections, and ${whose}.`)];
}
