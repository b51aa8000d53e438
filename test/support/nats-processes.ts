/**
 * A NATS server of its own, and wakers on it as several processes have them. Time is real: what has to come is waited
 * for under a deadline.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished } from 'vitest';
import {
  AckPolicy,
  connect,
  ErrorCode,
  nanos,
  NatsError,
  RetentionPolicy,
  type JetStreamManager,
  type NatsConnection,
} from 'nats';
import type { Logger } from 'sagacity';
import { type NatsWaker, natsWaker, type NatsWakerOptions } from 'sagacity/nats';
import { type PrivateNats, privateNats, type OperationRef, type PrivateNatsOptions, type Wake } from 'sagacity/testing';
import { type Subjects, subjectsOf } from '../../src/adapters/nats/letters.ts';
import type { Told } from '../../src/ports/waker.ts';

export interface NatsProcess {
  readonly waker: NatsWaker;
  /** When it was made, by the steady clock. */
  readonly began: number;
  /** With how long after the process was made it came, in milliseconds. */
  readonly woken: { readonly wake: Wake; readonly afterMs: number }[];
  readonly news: Told[];
  /** What was said at the level of `info` or above. */
  readonly lines: string[];
  /** Forgets what has come. */
  clear(): void;
  end(): Promise<void>;
}

export interface ProcessOptions {
  /** Where it finds the server, if not where it is. */
  readonly url?: string;
  /** `false`: it only tells. */
  readonly start?: boolean;
  /** Whether it is waited for until NATS is there, with timers or without. Default `timers`. */
  readonly until?: 'timers' | 'news' | 'nothing';
  readonly onWake?: (wake: Wake) => Promise<void>;
  readonly options?: Partial<NatsWakerOptions>;
}

export interface OnNats {
  readonly server: PrivateNats;
  readonly subjects: Subjects;
  process(options?: ProcessOptions): Promise<NatsProcess>;
  /** A connection of somebody who looks after the server. */
  admin(): Promise<NatsConnection>;
  jetStream(): Promise<JetStreamManager>;
  /** How many timers the server keeps, and how many of them have been handed to somebody who has not said a word yet. */
  kept(): Promise<{ readonly timers: number; readonly handedOut: number }>;
  close(): Promise<void>;
}

/** The time-out of whoever waits here; the machine may be slow. */
const PATIENCE_MS = 60_000;

export async function onNats(options?: PrivateNatsOptions): Promise<OnNats> {
  return withServer(await privateNats(options));
}

/** The same on a server that is there. */
export function withServer(
  server: PrivateNats,
  {
    servers = server.url,
    ledger = randomUUID(),
  }: { readonly servers?: string | string[]; readonly ledger?: string } = {},
): OnNats {
  const subjects = subjectsOf(ledger);
  const ends: (() => Promise<void>)[] = [];
  const admin = async () => {
    const connection = await connect({ servers });
    ends.push(() => connection.close());
    return connection;
  };
  const jetStream = async () => (await admin()).jetstreamManager();
  return {
    ...{ server, subjects, admin, jetStream },
    async process({ url, start = true, until: what = 'timers', onWake = async () => {}, options = {} } = {}) {
      const waker = natsWaker({ servers: url ?? servers, ...options } as NatsWakerOptions);
      const lines: string[] = [];
      const made: NatsProcess = {
        ...{ waker, lines, began: performance.now(), woken: [], news: [] },
        clear() {
          made.woken.length = 0;
          made.news.length = 0;
        },
        async end() {
          await waker.stop();
          await waker.close?.();
        },
      };
      waker.open?.(ledger, loggerInto(lines));
      if (start) {
        await waker.start(
          async (wake) => {
            made.woken.push({ wake, afterMs: performance.now() - made.began });
            await onWake(wake);
          },
          (news) => void made.news.push(news),
        );
      }
      ends.push(() => made.end());
      if (what === 'timers') await keepsTimers(waker);
      if (what === 'news') await isConnected(waker);
      return made;
    },
    async kept() {
      const { streams, consumers } = await jetStream();
      const [stream, consumer] = await Promise.all([
        streams.info(subjects.stream),
        consumers.info(subjects.stream, 'wakes'),
      ]);
      return { timers: stream.state.messages, handedOut: consumer.num_ack_pending };
    },
    async close() {
      await Promise.all(ends.map((end) => end()));
      await server.close();
    },
  };
}

export function isConnected(waker: NatsWaker): Promise<void> {
  return eventually(() => waker.state().isConnected, 'the waker to find NATS');
}

export function keepsTimers(waker: NatsWaker): Promise<void> {
  return eventually(() => waker.state().keepsTimers, 'JetStream to keep timers');
}

/** Waits until it is so; unlike a busy loop it leaves the machine to the servers. */
export async function eventually(
  isSo: () => boolean | Promise<boolean>,
  what: string,
  withinMs = PATIENCE_MS,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await answerTo(isSo))) {
    if (performance.now() > deadline) throw new Error(`Waited ${withinMs / 1_000} seconds for ${what}.`);
    await pause(10);
  }
}

/** While the members of a cluster elect who leads, none of them has an answer. */
async function answerTo(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await isSo();
  } catch (error) {
    if (error instanceof NatsError && error.code === ErrorCode.Timeout) return false;
    throw error;
  }
}

function loggerInto(lines: string[]): Logger {
  const note = (_: object, message: string) => void lines.push(message);
  return { debug: () => {}, info: note, warn: note, error: note };
}

export const second = 1_000;

/** A wake for the nth operation of a shop. */
export const wakeFor = (n: number, generation = 1): Wake => ({ tenant: 'shop-1', operationId: `op-${n}`, generation });
export const refTo = (n: number): OperationRef => ({ tenant: 'shop-1', id: `op-${n}` });

export async function place(options?: PrivateNatsOptions): Promise<OnNats> {
  const made = await onNats(options);
  onTestFinished(() => made.close());
  return made;
}

export function cameTo({ woken }: NatsProcess, count: number): Promise<void> {
  return eventually(() => woken.length >= count, `${count} timers to come`);
}

/** How long after `askedAt` each came. */
export function took({ woken, began }: NatsProcess, askedAt: number): readonly number[] {
  return woken.map(({ afterMs }) => began + afterMs - askedAt);
}

/** Neither before its time nor much later, on a machine that may be slow. */
export function expectOnTime(ms: number | undefined, delayMs: number): void {
  expect(ms).toBeGreaterThanOrEqual(delayMs - 20);
  expect(ms).toBeLessThan(delayMs + 1_500);
}

/** Resolves when the one hears the other; what came is forgotten. */
export async function heard(teller: NatsProcess, hearer: NatsProcess): Promise<void> {
  let told = 0;
  const hello = (n: number) => `hello-${n}`;
  const has = (id: string) => hearer.news.some((each) => 'ref' in each && each.ref.id === id);
  await eventually(() => {
    if ([...Array(told).keys()].some((n) => has(hello(n)))) return true;
    teller.waker.tell?.({ kind: 'said', ref: { tenant: 'shop-1', id: hello(told) } });
    told += 1;
    return false;
  }, 'one to hear the other');
  await eventually(() => has(hello(told - 1)), 'the last word to come');
  hearer.clear();
}

/** What is kept for timers, with another patience for whoever has one. */
export async function withPatience(on: OnNats, ackWaitMs: number): Promise<void> {
  const { streams, consumers } = await on.jetStream();
  const { stream, timers } = on.subjects;
  await streams.add({ name: stream, subjects: [timers], retention: RetentionPolicy.Workqueue });
  await consumers.add(stream, {
    ...{ durable_name: 'wakes', ack_policy: AckPolicy.Explicit, ack_wait: nanos(ackWaitMs), max_ack_pending: -1 },
  });
}
