/**
 * A connection to NATS that is sought for ever. That it cannot be had, or is lost, is said once, and once more when it
 * is there: nothing depends on it but promptness. What is sent while it is away is not kept.
 */

import type { ConnectionOptions, NatsConnection } from 'nats';
import type { CancelTimer, Clock } from '../../ports/clock.ts';
import type { Logger } from '../../ports/logger.ts';

/** Where the connection comes from: addresses, or one of the host's own, which is left open. */
export type Source = ConnectionOptions | { readonly connection: NatsConnection };

/** A pause between two tries to connect for the first time. */
const AGAIN_MS = 1_000;

/** A server that has said nothing for so long is not waited for. */
const CONNECT_MS = 5_000;

/** How often a server that says nothing is asked whether it is there. */
const PING_EVERY_MS = 5_000;

/** What was told last may take so long to go out when the link is closed. */
const FLUSH_MS = 500;

export class Link {
  readonly #source: Source;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onUp: (connection: NatsConnection) => void;
  #connection: NatsConnection | null = null;
  #isUp = false;
  #isClosed = false;
  #isMissed = false;
  #cancelRetry: CancelTimer = () => {};
  #connecting: Promise<void> = Promise.resolve();

  /** `onUp` is called whenever the connection is there, and there again. */
  constructor(source: Source, clock: Clock, logger: Logger, onUp: (connection: NatsConnection) => void) {
    this.#source = source;
    this.#clock = clock;
    this.#logger = logger;
    this.#onUp = onUp;
    this.#seek();
  }

  /** The connection while it is there, and takes what is published. */
  get up(): NatsConnection | null {
    const connection = this.#isUp ? this.#connection : null;
    // The host may end its own at any time, and that is heard of later.
    return connection === null || connection.isClosed() || connection.isDraining() ? null : connection;
  }

  /** Ends it, when what was told has gone out. The host's own stays open. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#cancelRetry();
    const connection = this.#connection;
    // One that comes later than this is ended as it comes.
    if (connection === null) return await this.#soon(this.#connecting);
    if (this.up !== null) await this.#soon(connection.flush());
    this.#isUp = false;
    await this.#soon(this.#end(connection));
  }

  async #end(connection: NatsConnection): Promise<void> {
    if (!('connection' in this.#source)) await connection.close();
  }

  #seek(): void {
    this.#connecting = this.#connect().catch((error: unknown) => {
      this.#miss(error);
      if (!this.#isClosed) this.#cancelRetry = this.#clock.after(AGAIN_MS, () => this.#seek());
    });
  }

  async #connect(): Promise<void> {
    const connection = await connected(this.#source);
    if (this.#isClosed) return await this.#end(connection);
    this.#connection = connection;
    void this.#follow(connection);
    this.#rise(connection);
  }

  async #follow(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (this.#isClosed) return;
      if (type === 'disconnect') {
        this.#isUp = false;
        this.#miss(undefined);
      }
      if (type === 'reconnect') this.#rise(connection);
    }
    const fault = await connection.closed();
    this.#isUp = false;
    this.#miss(fault);
    // The host has closed its own for good.
    if (!this.#isClosed && !('connection' in this.#source)) this.#seek();
  }

  #rise(connection: NatsConnection): void {
    this.#isUp = true;
    if (this.#isMissed) this.#logger.info({}, 'NATS is there again: wakes are prompt');
    this.#isMissed = false;
    this.#onUp(connection);
  }

  #miss(error: unknown): void {
    if (this.#isMissed || this.#isClosed) return;
    this.#isMissed = true;
    this.#logger.warn({ error }, 'NATS cannot be reached: the sweep finds what is due meanwhile');
  }

  async #soon(work: Promise<void>): Promise<void> {
    let cancelTimer: CancelTimer = () => {};
    const late = new Promise<void>((resolve) => {
      cancelTimer = this.#clock.after(FLUSH_MS, resolve);
    });
    await Promise.race([work.catch(() => {}), late]);
    cancelTimer();
  }
}

async function connected(source: Source): Promise<NatsConnection> {
  if ('connection' in source) return source.connection;
  const { connect } = await import('nats');
  return await connect({
    name: 'sagacity',
    ...{ reconnectTimeWait: 500, timeout: CONNECT_MS },
    // One that has fallen silent without an error is left after two of these.
    pingInterval: PING_EVERY_MS,
    ...source,
    // What is lost is sought for ever, also after a refusal: credentials are renewed by whoever keeps them.
    ...{ reconnect: true, maxReconnectAttempts: -1, ignoreAuthErrorAbort: true, waitOnFirstConnect: false },
    // What this process tells is for others.
    noEcho: true,
  });
}
