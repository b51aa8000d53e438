/**
 * What commits in a caller's own transaction is announced by that transaction itself, with NOTIFY, and heard by a
 * session that does nothing but LISTEN. A hint and no more: a session that was lost hears nothing until there is another
 * one, and the sweep finds what was missed. Our own turns announce nothing, because a commit with NOTIFY waits for others.
 */

import { createHash } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import type { CancelTimer, Clock } from '../../ports/clock.ts';
import { keyOf, type OperationRef, refOf } from '../../ports/store.ts';
import { type Client, clientFor, type Route } from './client.ts';
import { inTime } from './deadline.ts';

/** A pause before another session is begun. */
const AGAIN_MS = 1_000;

/** Of the transactions on one schema. A name of the server's may not be longer than 63 bytes, and a schema's is as long. */
export function channelOf(schema: string): string {
  return `sagacity_${createHash('sha256').update(schema, 'utf8').digest('hex').slice(0, 24)}`;
}

/** Announces it with the commit of the transaction in which this is evaluated. */
export function announcement(channel: string, ref: OperationRef): SQL {
  return sql`pg_notify(${channel}::text, ${keyOf(ref)}::text)`;
}

/** Hears what is announced, from now on, until what it returns is called. */
export function hearAnnouncements(
  route: Route,
  channel: string,
  clock: Clock,
  onAnnounced: (ref: OperationRef) => void,
): () => void {
  let client: Client | null = null;
  let cancelRetry: CancelTimer = () => {};
  let isOver = false;
  let sockets = 0;

  function again(): void {
    client = null;
    cancelRetry();
    if (!isOver) cancelRetry = clock.after(AGAIN_MS, begin);
  }

  function begin(): void {
    const listening = clientFor(
      route,
      () => sockets++,
      () => {
        if (client === listening) again();
      },
    );
    client = listening;
    const heard = (announced: string) => {
      // Anybody who may connect may announce.
      const ref = refOf(announced);
      if (ref !== null && !isOver) onAnnounced(ref);
    };
    inTime(
      clock,
      route.connectTimeoutMs,
      listening.sql.listen(channel, heard),
      () => new Error('Nobody answers.'),
    ).catch((error: unknown) => {
      listening.end(error);
      if (client === listening) again();
    });
  }

  begin();
  return () => {
    isOver = true;
    cancelRetry();
    client?.end(new Error('Nobody listens any more.'));
  };
}
