/**
 * This process as the store sees it: a row with a heartbeat. A renewal that comes too late ends the worker: it takes
 * a new id, drops what it held and sends nothing it had recorded. The store's clock decides about the row; here only
 * durations count, measured from when the last successful renewal was sent.
 */

import type { Clock, CancelTimer } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Random } from '../ports/random.ts';
import type { Store } from '../ports/store.ts';
import { msSince, type Stamp, stampNow } from './stamp.ts';

export interface Heartbeat {
  readonly everyMs: number;
  readonly timeoutMs: number;
}

export class Worker {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #logger: Logger;
  readonly #heartbeat: Heartbeat;
  readonly #onOver: () => void;
  #id = '';
  /** When the last successful renewal was sent; null: there is none that counts. */
  #freshSince: Stamp | null = null;
  #cancel: CancelTimer = () => {};
  #stopped = false;
  #enlisting: Promise<void> | null = null;
  /** The id is given up and the next one is not enlisted yet. */
  #over = false;
  /** Given up, and not known to be retired: what they own waits for that, or for their time-out. */
  readonly #formers = new Set<string>();
  #missed = false;

  constructor(
    ports: { store: Store; clock: Clock; random: Random; logger: Logger },
    heartbeat: Heartbeat,
    onOver: () => void,
  ) {
    this.#store = ports.store;
    this.#clock = ports.clock;
    this.#random = ports.random;
    this.#logger = ports.logger;
    this.#heartbeat = heartbeat;
    this.#onOver = onOver;
  }

  get id(): string {
    return this.#id;
  }

  /** Whether this worker may still begin something: its last renewal is young enough to reach the other company. */
  get isFresh(): boolean {
    const { everyMs, timeoutMs } = this.#heartbeat;
    return this.#freshSince !== null && msSince(this.#clock, this.#freshSince) < timeoutMs - everyMs / 2;
  }

  async start(): Promise<void> {
    await this.#enlist();
    if (this.#store.exclusive) await this.#store.bury(this.#id, 'others');
    this.#beatLater();
  }

  /** Stops renewing; the row stays until `retire`. */
  stop(): void {
    this.#stopped = true;
    this.#cancel();
  }

  /** Gives up this id with everything it owns, and goes on under a new one. */
  async replace(): Promise<void> {
    this.#end();
    await this.#enlist();
  }

  async retire(): Promise<void> {
    if (this.#id !== '') await this.#store.retire(this.#id);
  }

  /** From now on this id is not renewed, and begins nothing. */
  #end(): void {
    this.#formers.add(this.#id);
    this.#over = true;
    this.#freshSince = null;
    this.#onOver();
  }

  /** One at a time: of two that enlisted at once, the second would silently take the first one's place. */
  #enlist(): Promise<void> {
    this.#enlisting ??= this.#enlistAnew().finally(() => {
      this.#enlisting = null;
    });
    return this.#enlisting;
  }

  async #enlistAnew(): Promise<void> {
    const sentAt = stampNow(this.#clock);
    const id = this.#random.id();
    await this.#store.enlist(id);
    this.#id = id;
    this.#over = false;
    this.#freshSince = sentAt;
    // The store has answered, so it may answer this as well; the new worker does not wait for it.
    for (const former of this.#formers) void this.#retireFormer(former);
  }

  async #retireFormer(former: string): Promise<void> {
    try {
      await this.#store.retire(former);
      this.#formers.delete(former);
    } catch (error) {
      this.#logger.debug({ worker: former, error }, 'a worker that is over could not be retired yet');
    }
  }

  #beatLater(): void {
    if (this.#stopped) return;
    this.#cancel = this.#clock.after(this.#heartbeat.everyMs, () => {
      void this.#beat().finally(() => this.#beatLater());
    });
  }

  async #beat(): Promise<void> {
    const sentAt = stampNow(this.#clock);
    try {
      const id = this.#id;
      if (!this.#over) {
        const renewed = await this.#store.renew(id, this.#heartbeat.timeoutMs);
        // `replace` may have gone on to another id while the renewal was on its way: then it says nothing any more.
        if (id !== this.#id || this.#over) return;
        this.#missed = false;
        if (renewed) {
          this.#freshSince = sentAt;
          return;
        }
        this.#logger.warn({ worker: id }, 'worker is over: it was declared dead or renewed too late');
        this.#end();
      }
      await this.#enlist();
    } catch (error) {
      this.#logger[this.#missed ? 'debug' : 'warn']({ worker: this.#id, error }, 'heartbeat did not reach the store');
      this.#missed = true;
    }
  }
}
