/**
 * Wakes across processes, over NATS. Timers of what nobody holds are kept by JetStream and go to whichever process is
 * there; what was said, came due, was freed or changed is told by plain messages. What this process holds it wakes
 * itself, and while NATS is away everything: the database stays the truth, and the sweep its messenger.
 */

import type { ConnectionOptions, NatsConnection, Subscription } from 'nats';
import { definitionInvalid } from '../../domain/errors.ts';
import { type Logger, silentLogger } from '../../ports/logger.ts';
import { keyOf, type OperationRef } from '../../ports/store.ts';
import type { News, Told, Wake, Waker } from '../../ports/waker.ts';
import { systemClock } from '../local/clock.ts';
import { localWaker } from '../local/waker.ts';
import { examineNats } from './examination.ts';
import { changeIn, changeLetter, refIn, type Subjects, subjectsOf } from './letters.ts';
import { Link, type Source } from './link.ts';
import { Timers } from './timers.ts';

export type NatsWakerOptions = WakerOptions &
  (
    | ({
        /** `nats://nats-1.internal:4222`, or several of one cluster. */
        readonly servers: string | string[];
        readonly connection?: never;
      } & Omit<ConnectionOptions, 'servers' | 'noEcho' | 'reconnect' | 'maxReconnectAttempts' | 'waitOnFirstConnect'>)
    | {
        /** A connection of your own, which has to reconnect for ever (`maxReconnectAttempts: -1`) and is never closed here. */
        readonly connection: NatsConnection;
        readonly servers?: never;
      }
  );

interface WakerOptions {
  /** On how many servers of a cluster the timers are kept, when they are kept for the first time. Default 1. */
  readonly replicas?: 1 | 3 | 5;
}

/** What a waker over NATS tells of itself. */
export interface NatsWakerState {
  readonly isConnected: boolean;
  /** Whether JetStream keeps timers; without it, messages alone are prompt. */
  readonly keepsTimers: boolean;
  /** Messages that were nothing of ours: forged, malformed, or too long. */
  readonly dropped: number;
}

export interface NatsWaker extends Waker {
  state(): NatsWakerState;
}

/**
 * A waker over NATS (2.9 or newer, one server or a cluster, JetStream for timers), for several processes on one
 * database. Processes that share a database find each other by it; others on the same NATS are never met. Without NATS,
 * or with wrong credentials, everything goes on by the sweep: that is said once, and NATS is sought for ever.
 *
 * A user needs the rights to publish and subscribe below `sagacity.>`, and to use JetStream.
 *
 * @example
 * const orchestrator = createOrchestrator({
 *   store: postgresStore({ url: 'postgres://shop@db.internal/shop' }),
 *   waker: natsWaker({ servers: 'nats://nats.internal:4222' }),
 *   definitions: [chargeCard],
 * });
 */
export function natsWaker({ replicas = 1, ...options }: NatsWakerOptions): NatsWaker {
  const source = sourceIn(options);
  const clock = systemClock();
  const here = localWaker(clock);
  const subscriptions: Subscription[] = [];
  let open: Open | null = null;
  let hears: Hearing | null = null;
  let dropped = 0;

  function drop(): void {
    dropped += 1;
  }

  function listen(): void {
    const connection = open?.link.up;
    if (hears === null || connection === undefined || connection === null || open === null) return;
    // A connection subscribes anew by itself when it is there again.
    if (subscriptions.some((subscription) => !subscription.isClosed())) return;
    subscriptions.length = 0;
    const { onNews } = hears;
    const { said, due, freed } = open.subjects;
    const about = (kind: 'said' | 'due') => (letter: Uint8Array) => {
      const ref = refIn(letter);
      if (ref === null) drop();
      else onNews({ kind, ref });
    };
    subscriptions.push(
      subscribed(open, connection, said, about('said')),
      subscribed(open, connection, due, about('due'), 'workers'),
      subscribed(open, connection, freed, ({ length }) => (length === 0 ? onNews({ kind: 'freed' }) : drop())),
    );
    open.timers.listen();
  }

  function publish(subject: string, letter?: string): void {
    // What cannot go out now would only come late.
    open?.link.up?.publish(subject, letter);
  }

  function tell(news: News): void {
    if (open === null) return;
    const { subjects } = open;
    if (news.kind === 'freed') return publish(subjects.freed);
    if (news.kind === 'changed') return publish(subjects.changed(news.ref), changeLetter(news.rests));
    publish(subjects[news.kind], keyOf(news.ref));
  }

  /** For a process that takes nothing itself: whoever holds it attends to it, and if nobody does, one takes it. */
  function announce(ref: OperationRef): void {
    tell({ kind: 'said', ref });
    tell({ kind: 'due', ref });
  }

  return {
    open(ledger, logger = silentLogger) {
      if (open !== null) return;
      const subjects = subjectsOf(ledger);
      const timers = new Timers({
        ...{ subjects, replicas, clock, logger, onDropped: drop },
        onWake: async (wake) => await hears?.onWake(wake),
      });
      const link = new Link(source, clock, logger, (connection) => {
        listen();
        timers.arise(connection);
      });
      open = { subjects, timers, link, logger };
    },

    async start(onWake, onNews) {
      hears = { onWake, onNews };
      await here.start(onWake, onNews);
      listen();
    },

    wake(wake, delayMs, whose = 'anybodys') {
      const isWorker = hears !== null;
      if (!isWorker && delayMs <= 0) return announce(refOf(wake));
      if (
        delayMs <= 0 ||
        whose === 'mine' ||
        wake.generation === null ||
        open === null ||
        !open.timers.isReady ||
        open.link.up === null
      )
        return here.wake(wake, delayMs);
      const askedAt = clock.monotonic();
      open.timers.ask(wake, delayMs).catch(() => here.wake(wake, delayMs - (clock.monotonic() - askedAt)));
    },

    tell,

    watch(ref, onChange) {
      const connection = open?.link.up ?? null;
      if (open === null || connection === null) return () => {};
      const subscription = subscribed(open, connection, open.subjects.changed(ref), (letter) => {
        const change = changeIn(letter);
        if (change === null) drop();
        else onChange(change.rests);
      });
      return () => subscription.unsubscribe();
    },

    async stop() {
      hears = null;
      for (const subscription of subscriptions.splice(0)) subscription.unsubscribe();
      await Promise.all([here.stop(), open?.timers.deaf()]);
    },

    async close() {
      open?.timers.close();
      await open?.link.close();
    },

    examine: () => examineNats(source),

    state: () => ({
      isConnected: open !== null && open.link.up !== null,
      keepsTimers: open !== null && open.link.up !== null && open.timers.isReady,
      dropped,
    }),
  };
}

/** What begins with `open`. */
interface Open {
  readonly subjects: Subjects;
  readonly timers: Timers;
  readonly link: Link;
  readonly logger: Logger;
}

interface Hearing {
  readonly onWake: (wake: Wake) => Promise<void>;
  readonly onNews: (news: Told) => void;
}

function subscribed(
  { logger }: Open,
  connection: NatsConnection,
  subject: string,
  onLetter: (letter: Uint8Array) => void,
  queue?: string,
): Subscription {
  return connection.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback(error, { data }) {
      if (error === null) onLetter(data);
      else logger.warn({ error, subject }, 'NATS does not let this user hear what is told; the sweep finds it');
    },
  });
}

function refOf({ tenant, operationId }: Wake): OperationRef {
  return { tenant, id: operationId };
}

function sourceIn({ servers, connection, ...rest }: Omit<NatsWakerOptions, 'replicas'>): Source {
  if (connection !== undefined) return { connection };
  if (servers === undefined || servers.length === 0) {
    throw definitionInvalid(
      'natsWaker has no servers.',
      "Write natsWaker({ servers: 'nats://nats.internal:4222' }), or give a connection of your own.",
      { option: 'servers' },
    );
  }
  return { ...rest, servers };
}
