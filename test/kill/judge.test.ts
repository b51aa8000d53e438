import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type postgres from 'postgres';
import { createOrchestrator } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { scriptedProvider, type ScriptedProvider } from 'sagacity/testing';
import { databaseAt, freshDatabase } from '../support/postgres.ts';
import { type Flow, flows } from './flows.ts';
import { judge } from './judge.ts';
import { shopAt } from './shop.ts';

let provider: ScriptedProvider;
let sql: postgres.Sql;
/** Accepted, and due at once; nobody works. */
let charge: { readonly id: string };
let payment: { readonly id: string };

beforeEach(async () => {
  const url = await freshDatabase();
  provider = await scriptedProvider();
  sql = databaseAt(url);
  const shop = shopAt(provider.url);
  const store = postgresStore({ url, migrate: true, connections: 2 });
  const desk = createOrchestrator({ store, definitions: [shop.charge, shop.payment], tenant: 'shop-1' });
  charge = await desk.submit(shop.charge, { orderId: 'charge-1', amount: 5 });
  payment = await desk.submit(shop.payment, { orderId: 'payment-1', amount: 5 });
  await desk.stop();
});

afterEach(async () => {
  await sql.end();
  await provider.close();
});

const nothing: Flow = { ...flows.charge, records: () => ({}) };

describe('what is neither at its end nor has a next step', () => {
  test('is an orphan, be it an operation or a saga', async () => {
    const before = await judge(nothing, [], { sql, provider });

    await sql`update sagacity.operation set due_at = null where id = ${charge.id}`;
    await sql`update sagacity.saga set due_at = null where id = ${payment.id}`;
    const after = await judge(nothing, [], { sql, provider });

    expect(before.orphans).toBe(0);
    expect(after.orphans).toBe(2);
    expect(after.complaints.filter((what) => what.includes('orphan'))).toHaveLength(2);
  });
});

describe('a record that nobody ordered', () => {
  test('is one too many', async () => {
    await fetch(`${provider.url}/charges`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'of nobody' },
      body: JSON.stringify({ orderId: 'charge-1', amount: 5 }),
    });

    const { records, expected, complaints } = await judge(nothing, [], { sql, provider });

    expect([records, expected]).toEqual([{ charge: 1 }, {}]);
    expect(complaints).toEqual(
      expect.arrayContaining([
        'there are 1 records of charge and not 0 []',
        'the provider received the unknown key of nobody',
      ]),
    );
  });
});

describe('a caller who was told something else than is stored', () => {
  test('was told wrong', async () => {
    const told = [{ orderId: 'charge-1', id: charge.id, status: 'succeeded' }];

    const { complaints } = await judge(nothing, told, { sql, provider });

    expect(complaints).toContain('the caller of charge-1 was told succeeded, and stored is pending');
  });
});
