/**
 * Where cases are played: one PostgreSQL server for all of them, whose fsync is off because only clients are killed, one
 * NATS server, and for each case that is played at a time a provider in a process of its own. Every case has a database
 * that nobody else has seen, because what a killed process had sent may still be at work in its own, and with it timers
 * of its own.
 */

import { connect } from 'nats';
import postgres from 'postgres';
import { postgresStore } from 'sagacity/postgres';
import { privateNats, privatePostgres, type ScriptedProvider, spawnProvider } from 'sagacity/testing';
import { subjectsOf } from '../../src/adapters/nats/letters.ts';
import { createDatabase } from '../../src/testing/private-postgres/database.ts';
import { bundled } from './bundle.ts';

/** Where one case is played. */
export interface Place {
  /** Of the worker processes. */
  readonly program: string;
  readonly databaseUrl: string;
  readonly sql: postgres.Sql;
  readonly provider: ScriptedProvider;
  readonly natsUrl: string;
  /** NATS forgets every timer that it keeps for the database. */
  loseTimers(): Promise<void>;
}

export interface Site {
  /** Plays at an empty place, which is no more afterwards. At most as many at a time as the site has providers. */
  at<Answer>(play: (place: Place) => Promise<Answer>): Promise<Answer>;
  close(): Promise<void>;
}

export async function openSite(places: number): Promise<Site> {
  const [program, server, nats] = await Promise.all([
    bundled(),
    privatePostgres({ settings: { fsync: 'off', max_connections: '200' } }),
    privateNats(),
  ]);
  const providers: ScriptedProvider[] = [];
  const close = async () => {
    await Promise.all([
      program.remove(),
      server.close(),
      nats.close(),
      ...providers.map((provider) => provider.close()),
    ]);
  };
  try {
    const template = await server.createDatabase();
    const store = postgresStore({ url: template, migrate: true });
    await store.open();
    await store.close();
    for (let count = 0; count < places; count += 1) providers.push(await spawnProvider());
    const free = [...providers];
    return {
      async at(play) {
        const provider = free.pop();
        if (provider === undefined) throw new Error(`${places} cases are being played already.`);
        const databaseUrl = await createDatabase(server.url, databaseIn(template));
        const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
        try {
          await provider.reset();
          return await play({
            ...{ program: program.path, databaseUrl, sql, provider, natsUrl: nats.url },
            loseTimers: () => loseTimers(nats.url, databaseUrl),
          });
        } finally {
          await sql.end({ timeout: 1 });
          await dropDatabase(server.url, databaseIn(databaseUrl));
          free.push(provider);
        }
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function loseTimers(natsUrl: string, databaseUrl: string): Promise<void> {
  const store = postgresStore({ url: databaseUrl, connections: 2 });
  await store.open();
  const { stream } = subjectsOf(store.ledger?.() ?? '');
  await store.close();
  const connection = await connect({ servers: natsUrl });
  try {
    const { streams } = await connection.jetstreamManager();
    await streams.purge(stream);
  } finally {
    await connection.close();
  }
}

async function dropDatabase(url: string, name: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await sql`drop database ${sql(name)} with (force)`;
  } finally {
    await sql.end();
  }
}

function databaseIn(url: string): string {
  return new URL(url).pathname.slice(1);
}
