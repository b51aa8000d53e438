/**
 * One PostgreSQL database and one provider, and as many orchestrators on them as a specification wants, each with
 * connections of its own as processes have them. Time is real here: wait for what is written, never for how long it
 * takes. The provider's records are the proof.
 */

import type postgres from 'postgres';
import {
  type AnyOperation,
  createOrchestrator,
  type CreateOptions,
  type Duration,
  operation,
  type Orchestrator,
  type Outcome,
  type SubmittedOf,
  typed,
} from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import type { Store } from '../../src/ports/store.ts';
import { databaseAt, freshDatabase } from './postgres.ts';
import { chargeCard, type Payment } from './shop.ts';
import { until } from './world.ts';

export interface SharedDatabase {
  readonly url: string;
  readonly provider: ScriptedProvider;
  /** A store that belongs to no orchestrator, open. */
  readonly store: Store;
  readonly sql: postgres.Sql;
  /** An orchestrator with a store of its own; not started, and stopped with the database. `seen` is what it sees of it. */
  orchestrator(
    options: Pick<
      CreateOptions,
      'definitions' | 'migrations' | 'heartbeat' | 'concurrency' | 'clock' | 'sweepEvery' | 'waker'
    > & {
      readonly seen?: (store: Store) => Store;
    },
  ): Orchestrator<true>;
  /** Has operations accepted by an orchestrator that does not work: they are due at once, and nobody's. */
  accept<Definition extends AnyOperation>(
    definition: Definition,
    inputs: readonly SubmittedOf<Definition>[],
  ): Promise<void>;
  /** A worker claims this many of the operations that are due, the oldest first, and dies of it. */
  abandon(action: string, count: number): Promise<void>;
  /** Declares workers dead, whatever their heartbeat says: these, or all that own something. */
  declareDead(...workers: string[]): Promise<void>;
  /** Waits until every operation is settled, or waits for a person. */
  quiet(): Promise<void>;
  /** Waits until every saga is settled, whoever drives it. */
  sagasSettled(): Promise<void>;
  /** The kinds of the provider's records about an order, in the order in which they were made. */
  kept(orderId: string): Promise<readonly string[]>;
  /** The keys of the requests that were sent to charge, in order. */
  sentKeys(): Promise<readonly (string | null)[]>;
  /** The orders of which the provider has a record, one for each record, sorted. */
  charged(): Promise<readonly (string | null)[]>;
  close(): Promise<void>;
}

/** How often an orchestrator here asks the store for what no wake announced, unless it is told otherwise. */
export const SWEEP_EVERY_MS = 100;

export async function sharedDatabase(): Promise<SharedDatabase> {
  const [url, provider] = await Promise.all([freshDatabase(), scriptedProvider()]);
  const store = postgresStore({ url, migrate: true, connections: 2 });
  await store.open();
  const sql = databaseAt(url);
  const all: Orchestrator<true>[] = [];
  const orchestrator: SharedDatabase['orchestrator'] = ({ seen = (own) => own, ...options }) => {
    const own = seen(postgresStore({ url, connections: 3 }));
    const made = createOrchestrator({ sweepEvery: SWEEP_EVERY_MS, ...options, store: own, tenant: 'shop-1' });
    all.push(made);
    return made;
  };
  let abandoners = 0;
  const declareDead = async (...workers: string[]) => {
    await sql`
      update sagacity.worker set dead_at = now()
      where id in (select jsonb_array_elements_text(${JSON.stringify(workers)}::text::jsonb))
        or ${workers.length === 0} and id in (select owner from sagacity.operation)`;
  };
  return {
    ...{ url, provider, store, sql, orchestrator, declareDead },
    async accept(definition, inputs) {
      const idle = orchestrator({ definitions: [definition] });
      await Promise.all(inputs.map((input) => idle.submit(definition, input)));
      await idle.stop();
    },
    async abandon(action, count) {
      abandoners += 1;
      const worker = `abandoner-${abandoners}`;
      await store.enlist(worker);
      const claimed = await store.claim(worker, [action], count);
      if (claimed.length !== count) throw new Error(`${claimed.length} of ${count} operations were there to claim.`);
      await declareDead(worker);
    },
    async quiet() {
      await until(
        async () => {
          const moving = await sql`
          select from sagacity.operation where state not in ('succeeded', 'failed', 'escalated') limit 1`;
          return moving.length === 0 ? true : null;
        },
        'every operation to be settled or escalated',
        25_000,
      );
    },
    async sagasSettled() {
      await until(
        async () => {
          const moving = await sql`
          select from sagacity.saga where state not in ('succeeded', 'compensated', 'terminated') limit 1`;
          return moving.length === 0 ? true : null;
        },
        'every saga to be settled',
        25_000,
      );
    },
    async kept(orderId) {
      return (await provider.records()).filter((record) => record.orderId === orderId).map(({ kind }) => kind);
    },
    async sentKeys() {
      return (await provider.received()).filter(({ method }) => method === 'POST').map(({ key }) => key);
    },
    async charged() {
      return (await provider.records()).map(({ orderId }) => orderId).toSorted();
    },
    async close() {
      await provider.release();
      await Promise.all(all.map((each) => each.stop({ within: '1s' })));
      await Promise.all([store.close(), sql.end(), provider.close()]);
    },
  };
}

/** Orders of an invented shop, numbered. */
export function orders(series: string, count: number): readonly Payment[] {
  return Array.from({ length: count }, (_, n) => ({ orderId: `${series}-${n}`, amount: 5 }));
}

export interface SwiftTimes {
  readonly sendWithin: Duration;
  readonly timeout: Duration;
  /** Between two attempts. */
  readonly delay?: Duration;
}

/** After this long the look-up of a swift charge sees what the provider has done. */
export const VISIBLE_WITHIN_MS = 100;

/**
 * The charge of the shop with times that a real clock gets through soon. Where `first` says something, the first
 * attempt says it too and sends nothing.
 */
export function swiftCharge(
  url: string,
  { sendWithin, timeout, delay = '100ms' }: SwiftTimes,
  { onSend = () => {}, first = () => null }: SwiftHooks = {},
) {
  const { execute, find, key } = chargeCard(url, { onSend }).options;
  if (find === null || key === null) throw new Error('A charge has a key and can be looked up.');
  return operation('card.charge', {
    input: typed<Payment>(),
    key,
    execute: async (context) => (context.attempt === 1 ? first(context.input) : null) ?? (await execute(context)),
    keyRetention: '24h',
    lookup: { visibleWithin: VISIBLE_WITHIN_MS, every: '200ms', find },
    ...{ sendWithin, timeout },
    retry: { attempts: 5, backoff: 'fixed', delay, jitter: 'none' },
  });
}

export interface SwiftHooks {
  /** Called before each request leaves, with its key. */
  readonly onSend?: (key: string) => void;
  readonly first?: (order: Payment) => Outcome<never> | null;
}
