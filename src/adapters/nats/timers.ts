/**
 * Timers that outlive the process which asked for them: messages of a JetStream stream that are put off by a delayed
 * redelivery until they are due, and then go to whichever process is there. A message is acknowledged when what follows
 * from it is in the database, so that one whose process dies comes again. The stream may be lost with all that is in it.
 *
 * Stream and consumer are looked for first, created only where there is none, and never altered: changing them while
 * messages are put off can lose those in a cluster.
 */

import type { ConsumerInfo, ConsumerMessages, JetStreamManager, JsMsg, NatsConnection } from 'nats';
import type { CancelTimer, Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';
import type { Wake } from '../../ports/waker.ts';
import { type Subjects, timerIn, timerLetter } from './letters.ts';

/** The consumer that all processes share. */
const CONSUMER = 'wakes';

/** The longest a message is put off at once. What is due later is put off again then. */
const PUT_OFF_MAX_MS = 24 * 3_600_000;

/** A process that has a message and says nothing for so long has lost it. */
const ACKNOWLEDGED_WITHIN_MS = 30_000;

/** A pause between two tries to find or create what keeps the timers. */
const AGAIN_MS = 1_000;

/** No message is kept for longer: what is due later than that is found by the sweep alone. */
const KEPT_MS = 3 * PUT_OFF_MAX_MS;

/** A message that looks no older than this has just come: clocks of two machines are not compared for less. */
const FRESH_MS = 2_000;

/** Messages that are asked for at once, and how long one question for them stands. */
const pull = { max_messages: 500, expires: 15_000 };

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
  #cancelRetry: CancelTimer = () => {};
  #isReady = false;
  #isListening = false;
  #isMissed = false;
  /** The latest try to find what keeps the timers and to take them; what an earlier one comes to is of no interest. */
  #round: object = {};
  #messages: ConsumerMessages | null = null;

  constructor(options: TimerOptions) {
    this.#options = options;
  }

  /** True while a timer that is asked for is likely to be kept. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** The connection is there, or there again: what is missing on the server is created. */
  arise(connection: NatsConnection): void {
    this.#connection = connection;
    this.#isReady = false;
    this.#begin();
  }

  /** Begins to take timers that are due. */
  listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.#begin();
  }

  /** Takes none any more. */
  async deaf(): Promise<void> {
    this.#isListening = false;
    await this.#forsake();
  }

  /** Resolves when the timer is kept; rejects when it is not, or nobody knows. */
  async ask(wake: Wake, delayMs: number): Promise<void> {
    if (this.#connection === null) throw new Error('There is no connection to NATS.');
    const { subjects } = this.#options;
    try {
      const client = this.#connection.jetstream(patience);
      await client.publish(subjects.timers, timerLetter({ wake, delayMs }));
    } catch (error) {
      // Of many that are asked for at once, the first one sees to it.
      if (this.#isReady) this.#begin();
      this.#isReady = false;
      throw error;
    }
  }

  /** Tries nothing any more. */
  close(): void {
    this.#connection = null;
    this.#isReady = false;
    this.#cancelRetry();
    void this.#forsake();
  }

  /** Finds or creates what keeps the timers and takes those that are due; again after a pause until it has worked. */
  #begin(): void {
    const connection = this.#connection;
    if (connection === null) return;
    this.#cancelRetry();
    void this.#forsake();
    const round = this.#round;
    const { logger, clock } = this.#options;
    this.#work(connection, round).catch((error: unknown) => {
      if (round !== this.#round) return;
      this.#isReady = false;
      logger[this.#isMissed ? 'debug' : 'warn']({ error }, 'JetStream keeps no timers; the sweep finds what is due');
      this.#isMissed = true;
      this.#cancelRetry = clock.after(AGAIN_MS, () => this.#begin());
    });
  }

  /** Ends what the latest try began. */
  async #forsake(): Promise<void> {
    this.#round = {};
    const messages = this.#messages;
    this.#messages = null;
    await messages?.close();
  }

  /** Resolves when the round is over, or when there is nothing to be heard. */
  async #work(connection: NatsConnection, round: object): Promise<void> {
    await this.#ensure(connection);
    if (round !== this.#round) return;
    if (!this.#isListening) return this.#rise();
    const { stream } = this.#options.subjects;
    const consumer = await connection.jetstream(patience).consumers.get(stream, CONSUMER);
    // What is handed out to nobody any more would be kept back for half a minute.
    if (round !== this.#round) return;
    const messages = await consumer.consume({ ...pull, callback: (message) => this.#take(message) });
    if (round !== this.#round) return void (await messages.close());
    this.#messages = messages;
    this.#rise();
    await lost(messages);
    // Not at once: the server may not be done with what somebody deletes, and would delete what is created anew.
    if (round === this.#round) throw new Error('The server hands out no timers any more.');
  }

  #rise(): void {
    this.#isReady = true;
    if (this.#isMissed) this.#options.logger.info({}, 'JetStream keeps timers again');
    this.#isMissed = false;
  }

  async #ensure(connection: NatsConnection): Promise<void> {
    const { AckPolicy, RetentionPolicy, StorageType, nanos } = await import('nats');
    const { subjects, replicas } = this.#options;
    const { stream, timers } = subjects;
    const manager = await connection.jetstreamManager(patience);
    await manager.streams.info(stream).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      await manager.streams.add({
        ...{ name: stream, subjects: [timers], num_replicas: replicas },
        ...{ retention: RetentionPolicy.Workqueue, storage: StorageType.File, max_age: nanos(KEPT_MS) },
      });
    });
    const consumer = await manager.consumers.info(stream, CONSUMER).catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      return await manager.consumers.add(stream, {
        ...{ durable_name: CONSUMER, ack_policy: AckPolicy.Explicit, ack_wait: nanos(ACKNOWLEDGED_WITHIN_MS) },
        // What is put off counts as pending, and no number of timers is too many.
        ...{ max_ack_pending: -1, max_deliver: -1 },
      });
    });
    await refuseUnfit(manager, subjects, consumer);
  }

  #take(message: JsMsg): void {
    const timer = timerIn(message.data);
    if (timer === null) {
      this.#options.onDropped();
      return message.term();
    }
    if (!this.#isListening) return message.nak();
    const remainingMs = this.#remainingMs(message, timer.delayMs);
    if (remainingMs > 0) return message.nak(Math.min(remainingMs, PUT_OFF_MAX_MS));
    // Without a word it comes again, here or elsewhere.
    void this.#options
      .onWake(timer.wake)
      .then(() => message.ack())
      .catch((error: unknown) => this.#options.logger.debug({ error }, 'a timer of NATS was not acknowledged'));
  }

  /** It may have waited for somebody to be there, and a server that was started again is early. */
  #remainingMs({ info, redelivered }: JsMsg, delayMs: number): number {
    const passedMs = this.#options.clock.now() - info.timestampNanos / 1e6;
    return !redelivered && passedMs < FRESH_MS ? delayMs : delayMs - passedMs;
  }
}

/** An answer of JetStream that takes longer than this is none. */
const patience = { timeout: 5_000 };

/** What a consumer tells when the server has not what it takes from. */
const lostTheirs: ReadonlySet<string> = new Set([
  'heartbeats_missed',
  'consumer_not_found',
  'stream_not_found',
  'consumer_deleted',
  'no_responders',
]);

/** Resolves when the messages have ended, or what they come from is gone: the client would look for it for half a minute. */
async function lost(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of await messages.status()) if (lostTheirs.has(type)) return;
}

/** JetStream answers that there is no such stream or consumer. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '404';
}

/** Somebody else has made them, with other settings. */
async function refuseUnfit(
  manager: JetStreamManager,
  { stream, timers }: Subjects,
  { config }: ConsumerInfo,
): Promise<void> {
  const taker = await manager.streams.find(timers).catch((error: unknown) => {
    // The client says so by itself, without a code.
    if (error instanceof Error && error.message === 'no stream matches subject') return null;
    throw error;
  });
  if (taker !== stream) throw new Error(`Stream ${stream} does not take ${timers}. Delete it, and it is created anew.`);
  if (config.ack_policy === 'explicit' && config.deliver_subject === undefined) return;
  throw new Error(`Consumer ${CONSUMER} of stream ${stream} is not pulled from, or acknowledges by itself. Delete it.`);
}
