/**
 * Tables of any size, for asking what statements cost in them. Nearly all operations are settled, as in a shop that has
 * run for a year: of a million a tenth waits for a later time, some hundred are due, and a hundred are being worked on.
 * For every ten operations there is a saga, which has two of those that are settled; of sagas the same shares wait. Each
 * has been sent a signal, and those that are open hold what they were born with.
 */

import type postgres from 'postgres';
import type { Identity, OperationRef, SagaIdentity } from 'sagacity/testing';
import { ACTION } from './turns.ts';

/** Who owns what is being worked on. Alive, unlike six others. */
export const WORKERS = ['worker-1', 'worker-2', 'worker-3', 'worker-4'] as const;

/** On which timelines there have been workers; the last one is that of the starts and renewals. */
export const TIMELINES = ['timeline-1', 'timeline-2', 'timeline-3'] as const;

/** Every how many operations there is one like this. The numbers of the operations decide, so that all can be named. */
const every = { owned: 10_000, due: 3_000, doubtful: 1_000, later: 10, handedOver: 20_000 } as const;
const remainder = { owned: 1, due: 2, doubtful: 3, later: 4 } as const;

/** What all sagas are. */
export const SAGA = { name: 'order', version: 1 } as const;
/** What each has been sent. */
export const SIGNAL = 'order.paid';
/** The same of sagas. */
const everySaga = { owned: 1_000, due: 300, doubtful: 100, later: 10, handedOver: 2_000 } as const;

const OPERATIONS_PER_SAGA = 10;
/** The last digits of those that belong to the saga. They are of one tenant. */
const OWN = [5, 8] as const;

/** Makes the tables hold `size` operations that held `before`, in the order of their keys. Two records for each. */
export async function growTo(sql: postgres.Sql, before: number, size: number): Promise<void> {
  const numbers = sql`
    generate_series(0, 2) as shop
    cross join lateral generate_series(${before}::int, ${size - 1}::int) as n
    where n % 3 = shop`;
  const is = (kind: keyof typeof remainder) => sql`n % ${every[kind]}::int = ${remainder[kind]}::int`;
  const isOwn = sql`n % ${OPERATIONS_PER_SAGA}::int in (${OWN[0]}::int, ${OWN[1]}::int)`;
  await sql`
    insert into sagacity.worker (id, beat_at, dead_at)
    select 'worker-' || n, now(), case when n > ${WORKERS.length}::int then now() end
    from generate_series(1, 10) as n
    on conflict do nothing`;
  await sql`
    insert into sagacity.timeline (id, seen_at)
    select id, now() from jsonb_array_elements_text(${JSON.stringify(TIMELINES)}::text::jsonb) as id
    on conflict do nothing`;
  await sql`
    insert into sagacity.operation (
      tenant, id, saga, saga_revision, saga_n, action, key, provider_key, fingerprint, owner, generation, revision,
      turn, born, state, since, due_at, created_at, doubted_at, input, format, snapshot
    )
    select
      'shop-' || shop, 'op-' || lpad(n::text, 7, '0'),
      case when ${isOwn} then 'saga-' || lpad((n / ${OPERATIONS_PER_SAGA}::int)::text, 7, '0') end,
      case when ${isOwn} then 1 end, case when ${isOwn} then n % ${OPERATIONS_PER_SAGA}::int end,
      ${ACTION}, 'order-' || lpad(n::text, 7, '0'), 'key', 'print',
      case when ${is('owned')} then 'worker-' || 1 + (n / ${every.owned}::int) % 4 end,
      1, 1, 'turn', 'turn',
      case
        when ${is('owned')} then 'in-progress'
        when ${is('doubtful')} then 'unknown'
        when ${is('due')} or ${is('later')} then 'pending'
        else 'succeeded'
      end,
      now() - interval '1 hour',
      case
        when ${is('due')} then now() - n % 60 * interval '1 second'
        when ${is('later')} then now() + interval '1 day' + n % 3600 * interval '1 second'
      end,
      now() - interval '1 hour',
      case when ${is('doubtful')} then now() - n % 3600 * interval '1 second' end,
      '{}', 2, '{}'
    from ${numbers}`;
  await sql`
    insert into sagacity.attempt (tenant, subject, revision, n, kind, number, at, body)
    select 'shop-' || shop, 'op-' || lpad(n::text, 7, '0'), revision, 0, 'start', 1, now(), '{}'
    from (select shop, n from ${numbers}) as numbers cross join generate_series(0, 1) as revision`;
  await sql`
    insert into sagacity.handover (tenant, aggregate, id, body, at)
    select 'shop-' || shop, 'op-' || lpad(n::text, 7, '0'), 'said', '{}', now()
    from ${numbers} and n % ${every.handedOver}::int in (${remainder.owned}::int, ${remainder.doubtful}::int)`;
  await growSagasTo(sql, before, size);
}

/** As many as belong to `size` operations. */
async function growSagasTo(sql: postgres.Sql, before: number, size: number): Promise<void> {
  const numbers = sql`
    generate_series(0, 2) as shop
    cross join lateral generate_series(
      ${before / OPERATIONS_PER_SAGA}::int, ${size / OPERATIONS_PER_SAGA - 1}::int
    ) as n
    where (n * ${OPERATIONS_PER_SAGA}::int + ${OWN[0]}::int) % 3 = shop`;
  const is = (kind: keyof typeof remainder) => sql`n % ${everySaga[kind]}::int = ${remainder[kind]}::int`;
  await sql`
    insert into sagacity.saga (
      tenant, id, name, key, version, hash, fingerprint, owner, generation, revision, turn, born, state, since, due_at,
      dues, created_at, input, format, snapshot
    )
    select
      'shop-' || shop, 'saga-' || lpad(n::text, 7, '0'), ${SAGA.name}, 'order-' || lpad(n::text, 7, '0'),
      ${SAGA.version}::int, 'hash', 'print',
      case when ${is('owned')} then 'worker-' || 1 + (n / ${everySaga.owned}::int) % 4 end,
      1, 1, 'turn', 'turn',
      case
        when ${is('owned')} then 'in-progress'
        when ${is('doubtful')} then 'escalated'
        when ${is('due')} or ${is('later')} then 'waiting'
        else 'succeeded'
      end,
      now() - interval '1 hour',
      case
        when ${is('due')} then now() - n % 60 * interval '1 second'
        when ${is('later')} then now() + interval '1 day' + n % 3600 * interval '1 second'
      end,
      '{}', now() - interval '1 hour', '{}', 2, '{}'
    from ${numbers}`;
  await sql`
    insert into sagacity.attempt (tenant, subject, revision, n, kind, number, at, body)
    select 'shop-' || shop, 'saga-' || lpad(n::text, 7, '0'), 1, 0, 'moved', null, now(), '{}'
    from ${numbers}`;
  await sql`
    insert into sagacity.handover (tenant, aggregate, id, body, at)
    select 'shop-' || shop, 'saga-' || lpad(n::text, 7, '0'), 'said', '{}', now()
    from ${numbers} and n % ${everySaga.handedOver}::int in (${remainder.owned}::int, ${remainder.doubtful}::int)`;
  await sql`
    insert into sagacity.signal (tenant, saga, name, event_id, fingerprint, state, at, expires_at)
    select
      'shop-' || shop, 'saga-' || lpad(n::text, 7, '0'), ${SIGNAL}, 'event-1', 'print',
      case when ${is('owned')} then 'kept' else 'applied' end, now() - interval '1 hour', now() + interval '7 days'
    from ${numbers}`;
  await sql`
    insert into sagacity.lock (tenant, resource, saga, at)
    select 'shop-' || shop, 'cart-' || lpad(n::text, 7, '0'), 'saga-' || lpad(n::text, 7, '0'), now() - interval '1 hour'
    from ${numbers} and (${is('owned')} or ${is('doubtful')} or ${is('due')} or ${is('later')})`;
}

/** The operation of this number. */
export function operationAt(n: number): OperationRef & Identity {
  const digits = String(n).padStart(7, '0');
  return { tenant: `shop-${n % 3}`, id: `op-${digits}`, action: ACTION, key: `order-${digits}` };
}

/** The nth operation that is being worked on, and by whom. */
export function ownedAt(nth: number): { readonly ref: OperationRef; readonly owner: string } {
  const { tenant, id } = operationAt(nth * every.owned + remainder.owned);
  return { ref: { tenant, id }, owner: `worker-${1 + (nth % WORKERS.length)}` };
}

/** The saga of this number, an operation of its own, and what it holds while it is open. */
export function sagaAt(
  n: number,
): OperationRef & SagaIdentity & { readonly operation: string; readonly resource: string } {
  const own = operationAt(n * OPERATIONS_PER_SAGA + OWN[0]);
  const digits = String(n).padStart(7, '0');
  return {
    tenant: own.tenant,
    id: `saga-${digits}`,
    name: SAGA.name,
    key: `order-${digits}`,
    operation: own.id,
    resource: `cart-${digits}`,
  };
}

/** The nth saga that is being worked on, and by whom. */
export function ownedSagaAt(nth: number): ReturnType<typeof sagaAt> & { readonly owner: string } {
  return { ...sagaAt(nth * everySaga.owned + remainder.owned), owner: `worker-${1 + (nth % WORKERS.length)}` };
}
