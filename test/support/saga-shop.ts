/**
 * A shop that sells in several steps, at several companies, all of them the scripted provider: every step and every
 * inverse leaves one business record of a kind of its own, so that what a saga did is what the provider lists. Everybody
 * lives by the test's clock, and `pass` moves it on only while nothing is on its way, as in `timed.ts`. What a kind
 * holds back stays on its way without holding up time.
 */

import {
  absent,
  type AnyOperation,
  type AnySaga,
  createOrchestrator,
  type Doubt,
  type Duration,
  failed,
  found,
  inconclusive,
  type Limits,
  type Logger,
  type Migration,
  notApplied,
  operation,
  type Orchestrator,
  saga,
  type SagaRun,
  type SagaState,
  type Schema,
  succeeded,
  typed,
} from 'sagacity';
import { memoryStore, scriptedProvider, type ScriptedProvider, testClock, type TestClock } from 'sagacity/testing';
import { actorsFrom } from 'sagacity/xstate';
import { setup } from 'xstate';
import { milliseconds } from '../../src/domain/duration.ts';
import type { Store } from '../../src/ports/store.ts';
import { evenChance } from './chance.ts';
import { allStopped } from './on-their-way.ts';
import { until } from './world.ts';

/** What every step is about; `of` is the record that an inverse takes back. */
export interface Part {
  readonly orderId: string;
  readonly of?: string;
}

export const order: Part = { orderId: 'order-17' };

export type Kind =
  | 'authorisation'
  | 'void'
  | 'reservation'
  | 'release'
  | 'booking'
  | 'cancellation'
  | 'capture'
  | 'invoice'
  | 'email'
  | 'payment'
  | 'refund';

/** What a reply is about: a record of this kind, or what a look-up has found. */
type Sort = Kind | 'look-up';

/** How the operation that makes records of this kind is described, where it is not as usual. */
export interface Habit {
  readonly keyRetention?: '24h' | 'none';
  readonly lookup?: 'none' | { readonly giveUpAfter: Duration } | { readonly arrivalLimit: Duration };
  readonly attempts?: number;
  /** Is refused whenever it is asked for. */
  readonly isRefused?: boolean;
  /** Does not listen when it is told to give up, so that its reply can still come. */
  readonly isDeaf?: boolean;
  /** Sagas that mean the same one have it together. */
  readonly isShared?: boolean;
  /** What looks at its input; by default nothing does. */
  readonly schema?: Schema<Part>;
}

type Habits = Partial<Readonly<Record<Kind, Habit>>>;

export type Trade = ReturnType<typeof trade>;

export interface SagaShop {
  readonly provider: ScriptedProvider;
  readonly clock: TestClock;
  readonly store: Store;
  readonly trade: Trade;
  /** Opens an orchestrator on the shop's store, or on another; stopped with the shop. */
  open(definitions: readonly (AnyOperation | AnySaga)[], options?: Opening): Promise<Orchestrator<true>>;
  /** From now on no reply of this sort comes back, though the provider has acted. */
  hold(sort: Sort): void;
  /** Resolves when a reply of this sort is held back. */
  held(sort: Sort): Promise<void>;
  /** Lets held replies come, and those that follow. */
  letGo(sort: Sort): void;
  /** Moves time on second by second, waiting before each for what is on its way. */
  pass(duration: Duration): Promise<void>;
  /** Resolves when nothing is on its way and nothing is due. */
  rest(): Promise<void>;
  /** The kinds of the records about an order, in the order in which they were made. */
  kept(orderId?: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface Opening {
  readonly store?: Store;
  readonly tenant?: string;
  readonly concurrency?: number;
  readonly sweepEvery?: Duration;
  readonly limits?: Partial<Limits>;
  readonly logger?: Logger;
  readonly migrations?: readonly Migration[];
  /** `false`: it is not started. */
  readonly start?: boolean;
}

export async function sagaShop(habits: Habits = {}, made?: (clock: TestClock) => Store): Promise<SagaShop> {
  const clock = testClock();
  const provider = await scriptedProvider({
    clock: { now: () => clock.now(), setTimer: (ms, fire) => void clock.after(ms, fire) },
  });
  const store = made?.(clock) ?? memoryStore({ clock });
  const post = new Post();
  const all: Orchestrator<true>[] = [];
  const arrived = () => until(() => (post.onTheWay === 0 ? true : null), 'what is on its way to arrive');
  const pass = async (duration: Duration) => {
    await clock.advance(0);
    for (let left = milliseconds(duration, 'pass'); left > 0; left -= 1_000) {
      await arrived();
      await clock.advance(Math.min(1_000, left));
    }
    await arrived();
    await clock.advance(0);
  };
  return {
    ...{ provider, clock, store, pass },
    trade: trade(provider.url, post, habits),
    async open(
      definitions,
      { start = true, store: on = store, tenant = 'shop-1', concurrency, sweepEvery, limits, logger, migrations } = {},
    ) {
      const orchestrator = createOrchestrator({
        ...{ store: on, clock, random: evenChance(), definitions, tenant },
        ...(concurrency === undefined ? {} : { concurrency }),
        ...(limits === undefined ? {} : { limits }),
        ...(sweepEvery === undefined ? {} : { sweepEvery }),
        ...(logger === undefined ? {} : { logger }),
        ...(migrations === undefined ? {} : { migrations }),
      });
      all.push(orchestrator);
      if (start) await orchestrator.start();
      return orchestrator;
    },
    hold: (sort) => post.hold(sort),
    async held(sort) {
      await until(() => (post.isHeldBack(sort) ? true : null), `a reply about ${sort} to be held back`);
    },
    letGo: (sort) => post.letGo(sort),
    async rest() {
      for (let quiet = 0; quiet < 3; quiet += 1) {
        await arrived();
        await clock.advance(0);
      }
    },
    async kept(orderId = order.orderId) {
      return (await provider.records()).filter((record) => record.orderId === orderId).map(({ kind }) => kind);
    },
    async close() {
      post.letAllGo();
      await allStopped(all, clock);
      await provider.close();
    },
  };
}

/** Resolves when the saga is in one of the states, without moving time. */
export function sagaReached(run: SagaRun, ...states: SagaState[]): Promise<SagaState> {
  return until(
    async () => {
      const state = await run.status();
      return states.includes(state) ? state : null;
    },
    `saga ${run.id} to be ${states.join(' or ')}`,
  );
}

/** The same operations at a provider whose clock is the real one. */
export function tradeAt(url: string): Trade {
  return trade(url, new Post(), {});
}

/** What the result of a saga is at once, without waiting. */
export function now<Output, Cause>(run: SagaRun<Output, Cause>) {
  return run.result({ within: 0 });
}

/** How often its definition was found to be at fault, and what was said. */
export async function faultsOf(run: Pick<SagaRun, 'history'>): Promise<readonly unknown[]> {
  return (await run.history()).flatMap(({ facts }) => facts['fault'] ?? []);
}

/** The one doubt that the operator is shown. */
export async function onlyDoubt(orchestrator: Orchestrator<true>): Promise<Doubt> {
  const [doubt, ...more] = await orchestrator.operator.doubts();
  if (doubt === undefined || more.length > 0) throw new Error(`There are ${more.length + (doubt ? 1 : 0)} doubts.`);
  return doubt;
}

/** Every operation of the shop; those that are steps before a pivot know their inverse. */
function trade(url: string, post: Post, habits: Habits) {
  const describe = (kind: Kind) => described(url, kind, post, habits[kind] ?? {});
  const voiding = operation('payment.void', describe('void'));
  const release = operation('stock.release', describe('release'));
  const cancelBooking = operation('courier.cancel', describe('cancellation'));
  const refund = operation('payment.refund', describe('refund'));
  return {
    authorise: operation('payment.authorise', {
      ...describe('authorisation'),
      compensate: { operation: voiding, input: takingBack },
    }),
    reserve: operation('stock.reserve', {
      ...describe('reservation'),
      compensate: { operation: release, input: takingBack },
    }),
    book: operation('courier.book', {
      ...describe('booking'),
      compensate: { operation: cancelBooking, input: takingBack },
    }),
    pay: operation('payment.take', { ...describe('payment'), compensate: { operation: refund, input: takingBack } }),
    capture: operation('payment.capture', describe('capture')),
    invoice: operation('invoice.write', { ...describe('invoice'), compensate: { none: 'an invoice is on record' } }),
    email: operation('email.send', describe('email')),
    ...{ voiding, release, cancelBooking, refund },
  };
}

/** By hand: authorise, wait up to an hour for somebody's approval, and reserve. */
export function approval({ authorise, reserve }: Trade, selling: Selling = {}) {
  const operations = { authorise, reserve };
  const machine = setup({
    types: { context: typeOf<Part>(), input: typeOf<Part>(), events: typeOf<Approval>() },
    actors: actorsFrom(operations),
  }).createMachine({
    id: 'approval',
    context: ({ input }) => input,
    initial: 'money',
    states: {
      money: {
        invoke: { id: 'money', src: 'authorise', input: ({ context }) => context, onDone: 'asking', onError: 'back' },
      },
      asking: { on: { approved: 'goods', rejected: 'back' }, after: { 3_600_000: 'back' } },
      goods: {
        invoke: { id: 'goods', src: 'reserve', input: ({ context }) => context, onDone: 'sold', onError: 'back' },
      },
      back: { invoke: { src: 'compensate', onDone: 'withdrawn' } },
      sold: { type: 'final' },
      withdrawn: { type: 'final' },
    },
  });
  return saga('approval', { ...selling, input: typed<Part>(), key: ({ input }) => input.orderId, machine, operations });
}

export type Approval = { readonly type: 'approved' } | { readonly type: 'rejected' };

/** XState takes types by example, and reads none of them. */
export function typeOf<Type>(): Type {
  return {} as Type;
}

interface Selling {
  readonly within?: Duration;
  readonly compensation?: 'parallel';
}

/** Authorise, reserve and book; then capture, after which there is no way back; and a mail that may fail. */
export function fulfilment({ authorise, reserve, book, capture, email }: Trade, selling: Selling = {}) {
  return saga('fulfilment', { ...selling, input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('money', authorise, ({ input }) => input)
    .step('goods', reserve, ({ input }) => input)
    .step('courier', book, ({ input }) => input)
    .pivot('capture', capture, ({ input }) => input)
    .step('email', email, ({ input }) => input, { onFailed: 'continue' });
}

/** Authorise, reserve and pay: everything can be taken back to the end. */
export function purchase({ authorise, reserve, pay }: Trade, selling: Selling = {}) {
  return saga('purchase', { ...selling, input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('money', authorise, ({ input }) => input)
    .step('goods', reserve, ({ input }) => input)
    .step('payment', pay, ({ input }) => input);
}

/** Three at the same time, and a payment when all have succeeded. */
export function fair({ authorise, reserve, book, pay }: Trade, selling: Selling = {}) {
  return saga('fair', { ...selling, input: typed<Part>(), key: ({ input }) => input.orderId })
    .parallel('prepare', (branch) => ({
      bank: branch.step('money', authorise, ({ input }) => input),
      warehouse: branch.step('goods', reserve, ({ input }) => input),
      carrier: branch.step('courier', book, ({ input }) => input),
    }))
    .step('payment', pay, ({ input }) => input);
}

function takingBack({ input, output }: { readonly input: Part; readonly output: { readonly id: string } }): Part {
  return { orderId: input.orderId, of: output.id };
}

/** A 402 is a refusal, a 409 had no effect, and every other reply that is no success proves nothing. */
function described(url: string, kind: Kind, post: Post, habit: Habit) {
  const { keyRetention = '24h', lookup, attempts = 3, isDeaf = false, isRefused = false, isShared = false } = habit;
  const path = `${url}/${kind}s`;
  const send = async (input: Part, idempotencyKey: string, abortSignal: AbortSignal) => {
    const reply = await fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify(input),
      ...(isDeaf ? {} : { signal: abortSignal }),
    });
    if (reply.status === 402) return failed('declined');
    if (reply.status === 409) return notApplied('the provider is busy');
    if (!reply.ok) throw new Error(`The provider replied ${reply.status}.`);
    const id = idIn(await reply.json());
    return succeeded({ id }, { reference: id });
  };
  const find = async (idempotencyKey: string, abortSignal: AbortSignal) => {
    const reply = await fetch(`${path}/by-idempotency-key/${idempotencyKey}`, { signal: abortSignal });
    if (reply.status === 404) return absent();
    if (!reply.ok) return inconclusive(`the look-up was answered ${reply.status}`);
    const body: unknown = await reply.json();
    const [record, ...others] = [body, ...othersIn(body)].map(idIn).map((id) => succeeded({ id }, { reference: id }));
    return record === undefined ? absent() : found(record, ...others);
  };
  return {
    input: habit.schema ?? typed<Part>(),
    key: ({ input }: { readonly input: Part }) => input.orderId,
    shared: isShared,
    execute: ({ input, idempotencyKey, abortSignal }: Sent) =>
      post.trip(abortSignal, async (trip) => {
        const outcome = isRefused ? failed('declined') : await send(input, idempotencyKey, abortSignal);
        await post.comesBack(kind, trip, isDeaf ? null : abortSignal);
        return outcome;
      }),
    keyRetention,
    lookup:
      lookup === 'none'
        ? ('none' as const)
        : {
            visibleWithin: '30s' as const,
            arrivalLimit: '30s' as const,
            every: '5s' as const,
            ...lookup,
            find: ({ idempotencyKey, abortSignal }: Omit<Sent, 'input'>) =>
              post.trip(abortSignal, async (trip) => {
                const finding = await find(idempotencyKey, abortSignal);
                await post.comesBack('look-up', trip, abortSignal);
                return finding;
              }),
          },
    timeout: '10s' as const,
    retry: { attempts, backoff: 'fixed', delay: '1s', jitter: 'none' } as const,
  };
}

interface Sent {
  readonly input: Part;
  readonly idempotencyKey: string;
  readonly abortSignal: AbortSignal;
}

function idIn(body: unknown): string {
  if (typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string') return body.id;
  throw new Error('The reply holds no record.');
}

/** What the provider has under the same key, against its word. */
function othersIn(body: unknown): readonly unknown[] {
  return typeof body === 'object' && body !== null && 'others' in body && Array.isArray(body.others) ? body.others : [];
}

/** Everything between the shop and the provider. */
class Post {
  readonly #trips = new Set<object>();
  readonly #holds = new Map<Sort, Hold>();

  get onTheWay(): number {
    return this.#trips.size;
  }

  hold(sort: Sort): void {
    this.#holds.set(sort, new Hold());
  }

  isHeldBack(sort: Sort): boolean {
    return this.#holds.get(sort)?.isWaited === true;
  }

  letGo(sort: Sort): void {
    this.#holds.get(sort)?.open();
    this.#holds.delete(sort);
  }

  letAllGo(): void {
    for (const sort of [...this.#holds.keys()]) this.letGo(sort);
  }

  /** Counts as on its way until it has ended or was given up. */
  async trip<Told>(abortSignal: AbortSignal, go: (trip: object) => Promise<Told>): Promise<Told> {
    const trip = {};
    this.#trips.add(trip);
    abortSignal.addEventListener('abort', () => this.#trips.delete(trip));
    try {
      return await go(trip);
    } finally {
      this.#trips.delete(trip);
    }
  }

  /** At once, unless its sort is held back. */
  async comesBack(sort: Sort, trip: object, abortSignal: AbortSignal | null): Promise<void> {
    const hold = this.#holds.get(sort);
    if (hold === undefined) return;
    this.#trips.delete(trip);
    hold.isWaited = true;
    await Promise.race([hold.opened, aborted(abortSignal)]);
  }
}

class Hold {
  isWaited = false;
  open = () => {};
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

function aborted(abortSignal: AbortSignal | null): Promise<never> {
  return new Promise((_, reject) => {
    abortSignal?.addEventListener('abort', () => reject(new Error('It was given up.')));
  });
}
