/** What the database says of the orders, read with SQL of our own while they are under way. */

import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';

export interface Watch {
  /** How many orders' sagas are in which state; null while the database does not answer. */
  counts(): Promise<Readonly<Record<string, number>> | null>;
  /** How many have still to move by themselves. This and what follows waits while the database does not answer. */
  underWay(): Promise<number>;
  /** The state of each order's saga. */
  states(): Promise<ReadonlyMap<string, string>>;
  /** The sagas under way that these workers own. */
  ownedBy(workers: readonly string[]): Promise<readonly Owned[]>;
  /** How many of them somebody else has claimed since. */
  takenOver(left: readonly Owned[]): Promise<number>;
  close(): Promise<void>;
}

/** A saga, and the generation of the claim under which it was owned. */
export interface Owned {
  readonly id: string;
  readonly generation: number;
}

const moving = ['in-progress', 'waiting', 'compensating'];

export function watchOn(url: string): Watch {
  const sql = postgres(url, { max: 2, onnotice: () => {}, connect_timeout: 3, backoff: () => 0.2 });
  return {
    async counts() {
      const found = await sql<{ state: string; count: number }[]>`
        select state, count(*)::int as count from sagacity.saga group by state`.catch(() => null);
      return found === null ? null : Object.fromEntries(found.map(({ state, count }) => [state, count]));
    },
    async underWay() {
      const [found] = await answered(
        () => sql<{ count: number }[]>`select count(*)::int as count from sagacity.saga where state = any (${moving})`,
      );
      return found?.count ?? 0;
    },
    async states() {
      const found = await answered(() => sql<{ key: string; state: string }[]>`select key, state from sagacity.saga`);
      return new Map(found.map(({ key, state }) => [key, state]));
    },
    async ownedBy(workers) {
      const found = await answered(
        () => sql<Owned[]>`
          select id, generation::int from sagacity.saga where owner = any (${[...workers]}) and state = any (${moving})`,
      );
      return found.map(({ id, generation }) => ({ id, generation }));
    },
    async takenOver(left) {
      // A dead worker gives nothing back: only a claim raises the generation of what it held.
      const found = await answered(
        () => sql<Owned[]>`
          select id, generation::int from sagacity.saga where id = any (${left.map(({ id }) => id)})`,
      );
      const now = new Map(found.map(({ id, generation }) => [id, generation]));
      return left.filter(({ id, generation }) => (now.get(id) ?? 0) > generation).length;
    },
    close: () => sql.end({ timeout: 1 }),
  };
}

const PATIENCE_MS = 30_000;

/** What a query gives, asked as often as it takes while the server is away. */
async function answered<Rows>(query: () => PromiseLike<Rows>): Promise<Rows> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await query();
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
      await pause(100);
    }
  }
}
