/**
 * Timers that outlive the process which asked for them: messages of a JetStream stream that are put off by a delayed
 * redelivery until they are due, and then go to whichever process is there. A message is acknowledged when what follows
 * from it is in the database, so that one whose process dies comes again. The stream may be lost with all that is in it.
 *
 * Stream and consumer are looked for first, created only where there is none, and never altered: changing them while
 * messages are put off can lose those in a cluster.
 */

import type { ConsumerMessages, JetStreamClient, JsMsg, NatsConnection } from 'nats';
import type { CancelTimer, Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Wake } from '../../ports/waker.ts';
import { type Subjects, timerId, timerIn, timerLetter } from './letters.ts';

/** The consumer that all processes share. */
const CONSUMER = 'wakes';

/** The longest a message is put off at once. What is due later is looked at then, and asked for anew. */
const PUT_OFF_MAX_MS = 24 * 3_600_000;

/** A process that has a message and says nothing for so long has lost it. */
const ACKNOWLEDGED_WITHIN_MS = 30_000;

/** A pause between two tries to find or create what keeps the timers. */
const AGAIN_MS = 2_000;

/** No message is of use for longer: each is acknowledged at its redelivery. */
const KEPT_MS = 3 * PUT_OFF_MAX_MS;

export interface TimerOptions {
  readonly subjects: Subjects;
  /** Of the stream; more than one only in a cluster. */
  readonly replicas: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly onWake: (wake: Wake) => Promise<void>;
  /** Something came that is no timer. */
  readonly onDropped: () => void;
}

export class Timers {
  readonly #options: TimerOptions;
  #connection: NatsConnection | null = null;
  #client: JetStreamClient | null = null;
  #messages: ConsumerMessages | null = null;
  #isPreparing = false;
  #cancelRetry: CancelTimer = () => {};
  #isReady = false;
  #isListening = false;
  #isMissed = false;

  constructor(options: TimerOptions) {
    this.#options = options;
  }

  /** True while a timer that is asked for is likely to be kept. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** The connection is there, or there again: what is missing on the server is created. */
  arise(connection: NatsConnection): void {
    if (connection !== this.#connection) this.#messages = null;
    this.#connection = connection;
    this.#client = connection.jetstream({ timeout: 5_000 });
    this.#prepare();
  }

  /** Begins to take timers that are due. */
  listen(): void {
    this.#isListening = true;
    if (this.#isReady) this.#consume();
  }

  /** Takes none any more. */
  async deaf(): Promise<void> {
    this.#isListening = false;
    const messages = this.#messages;
    this.#messages = null;
    await messages?.close();
  }

  /** Resolves when the timer is kept; rejects when it is not, or nobody knows. */
  async ask(wake: Wake, delayMs: number): Promise<void> {
    const { subjects } = this.#options;
    if (this.#client === null) throw new Error('There is no connection to NATS.');
    try {
      const letter = timerLetter({ wake, delayMs });
      await this.#client.publish(subjects.timers, letter, { msgID: timerId(wake) });
    } catch (error) {
      this.#isReady = false;
      this.#prepare();
      throw error;
    }
  }

  /** Tries nothing any more. */
  close(): void {
    this.#connection = null;
    this.#cancelRetry();
  }

  /** One at a time, and again after a pause until it has worked. */
  #prepare(): void {
    if (this.#isPreparing) return;
    this.#isPreparing = true;
    this.#cancelRetry();
    const { logger, clock } = this.#options;
    this.#ensure().then(
      () => {
        this.#isPreparing = false;
        this.#isReady = this.#connection !== null;
        this.#isMissed = false;
        if (this.#isListening) this.#consume();
      },
      (error: unknown) => {
        this.#isPreparing = false;
        this.#isReady = false;
        if (this.#connection === null) return;
        logger[this.#isMissed ? 'debug' : 'warn']({ error }, 'JetStream keeps no timers; the sweep finds what is due');
        this.#isMissed = true;
        this.#cancelRetry = clock.after(AGAIN_MS, () => this.#prepare());
      },
    );
  }

  async #ensure(): Promise<void> {
    const connection = this.#connection;
    if (connection === null) return;
    const { AckPolicy, RetentionPolicy, StorageType, nanos } = await import('nats');
    const { subjects, replicas } = this.#options;
    const manager = await connection.jetstreamManager({ timeout: 5_000 });
    const { stream } = subjects;
    await manager.streams.info(stream).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      await manager.streams.add({
        ...{ name: stream, subjects: [subjects.timers], num_replicas: replicas },
        ...{ retention: RetentionPolicy.Workqueue, storage: StorageType.File, max_age: nanos(KEPT_MS) },
      });
    });
    await manager.consumers.info(stream, CONSUMER).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      await manager.consumers.add(stream, {
        ...{ durable_name: CONSUMER, ack_policy: AckPolicy.Explicit, ack_wait: nanos(ACKNOWLEDGED_WITHIN_MS) },
        // What is put off counts as pending, and no number of timers is too many.
        ...{ max_ack_pending: -1, max_deliver: -1 },
      });
    });
  }

  #consume(): void {
    if (this.#messages !== null || this.#client === null) return;
    const client = this.#client;
    const { stream } = this.#options.subjects;
    void (async () => {
      const consumer = await client.consumers.get(stream, CONSUMER);
      if (!this.#isListening || this.#messages !== null) return;
      const messages = await consumer.consume({ max_messages: 500, callback: (message) => this.#take(message) });
      this.#messages = messages;
      if (!this.#isListening) return await this.deaf();
      for await (const { type } of await messages.status()) {
        if (lostTheirs.has(type)) this.#prepare();
      }
    })().catch((error: unknown) => this.#options.logger.debug({ error }, 'the timers of NATS cannot be taken yet'));
  }

  #take(message: JsMsg): void {
    const timer = timerIn(message.data);
    if (timer === null) {
      this.#options.onDropped();
      message.term();
      return;
    }
    // The first delivery comes at once. One that comes earlier than it should is found out by who is woken.
    if (!message.redelivered && timer.delayMs > 0) return message.nak(Math.min(timer.delayMs, PUT_OFF_MAX_MS));
    if (!this.#isListening) return message.nak();
    void this.#options.onWake(timer.wake).then(() => message.ack());
  }
}

/** What a consumer tells when the server has not what it takes from. */
const lostTheirs: ReadonlySet<string> = new Set([
  'heartbeats_missed',
  'consumer_not_found',
  'stream_not_found',
  'consumer_deleted',
  'no_responders',
]);

/** JetStream answers that there is no such stream or consumer. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '404';
}
