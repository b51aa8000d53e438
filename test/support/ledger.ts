/**
 * A company whose books are a table beside the store's: a call of its executor is one insert, and nothing keeps a second
 * one from being made. So what the table holds at the end is what was called. It can be asked by key.
 */

import type postgres from 'postgres';
import { absent, type Duration, found, notApplied, operation, succeeded, typed } from 'sagacity';

export interface Reminder {
  readonly orderId: string;
}

export interface ReminderOptions {
  readonly action?: string;
  /** Who makes the records: a process, by the name that its test gives it. */
  readonly by: string;
  /** Waited for when a record has been made, before the reply comes. */
  readonly afterwards?: (reminder: Reminder) => Promise<void> | undefined;
  /** The first attempt of each is not applied. */
  readonly refusesFirst?: boolean;
  /** Between two attempts of what is submitted with this definition. */
  readonly delay?: Duration;
}

export async function openBooks(sql: postgres.Sql): Promise<void> {
  await sql`
    create table books (
      id bigint generated always as identity primary key,
      action text not null,
      key text not null,
      order_id text not null,
      made_by text not null
    )`;
  await sql`create index on books (key)`;
}

/** It is found or it is not: the company knows no keys of ours, so that nothing is ever sent a second time on a guess. */
export function reminder(sql: postgres.Sql, options: ReminderOptions) {
  const { action = 'reminder.send', by, afterwards, refusesFirst = false, delay = '1s' } = options;
  return operation(action, {
    input: typed<Reminder>(),
    key: ({ input }) => input.orderId,
    async execute({ input, idempotencyKey, attempt }) {
      if (refusesFirst && attempt === 1) return notApplied('busy');
      const [made] = await sql<{ id: string }[]>`
        insert into books (action, key, order_id, made_by)
        values (${action}, ${idempotencyKey}, ${input.orderId}, ${by})
        returning id::text`;
      await afterwards?.(input);
      return succeeded({ id: made?.id }, { reference: made?.id ?? '' });
    },
    keyRetention: 'none',
    lookup: {
      visibleWithin: '10ms',
      async find({ idempotencyKey }) {
        const records = await sql<{ id: string }[]>`select id::text from books where key = ${idempotencyKey}`;
        const [first, ...more] = records.map(({ id }) => succeeded({ id }, { reference: id }));
        return first === undefined ? absent() : found(first, ...more);
      },
    },
    ...{ sendWithin: '10s', timeout: '20s' },
    retry: { attempts: 3, backoff: 'fixed', delay, jitter: 'none' },
  });
}
