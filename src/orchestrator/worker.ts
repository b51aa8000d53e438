/**
 * This process as the store sees it: a row with a heartbeat, on one timeline of the store. A renewal that comes too
 * late, or after a fail-over, ends the worker: it takes a new id, drops what it held and sends nothing it had recorded.
 * The store's clock decides about the row; here only durations count, measured from when the last successful renewal
 * was sent.
 */

import type { Clock, CancelTimer } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Random } from '../ports/random.ts';
import type { Store, Timeline } from '../ports/store.ts';
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
  readonly #onTimeline: (timeline: Timeline) => void;
  #id = '';
  #timeline: Timeline = nowhere;
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
  /** Its end is not told yet: what it was is known when the next one is enlisted. */
  #untold: string | null = null;

  constructor(
    ports: { store: Store; clock: Clock; random: Random; logger: Logger },
    heartbeat: Heartbeat,
    onOver: () => void,
    onTimeline: (timeline: Timeline) => void,
  ) {
    this.#store = ports.store;
    this.#clock = ports.clock;
    this.#random = ports.random;
    this.#logger = ports.logger;
    this.#heartbeat = heartbeat;
    this.#onOver = onOver;
    this.#onTimeline = onTimeline;
  }

  get id(): string {
    return this.#id;
  }

  /** Where the store was when this worker was enlisted. */
  get timeline(): Timeline {
    return this.#timeline;
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

  /**
   * The store has shown that it is on another timeline than this one: goes on under a new id there, unless it has done
   * so already. Rejects while the store does not answer; the heartbeat goes on trying.
   */
  async leave(timeline: string): Promise<void> {
    if (timeline !== this.#timeline.id) return;
    if (!this.#over) this.#end();
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
    const timeline = await this.#store.enlist(id);
    const was = this.#timeline;
    this.#id = id;
    this.#timeline = timeline;
    this.#over = false;
    this.#freshSince = sentAt;
    this.#tellEnd(was);
    this.#onTimeline(timeline);
    // The store has answered, so it may answer this as well; the new worker does not wait for it.
    for (const former of this.#formers) void this.#retireFormer(former);
  }

  /** Why the worker before this one ended, if it was not its own wish. A fail-over is told once. */
  #tellEnd(was: Timeline): void {
    const untold = this.#untold;
    this.#untold = null;
    if (was !== nowhere && was.id !== this.#timeline.id) {
      this.#logger.warn(
        { worker: this.#id, timeline: this.#timeline.id, before: was.id },
        'the store is on another timeline, after a fail-over: commits may be lost, and what may have been sent is verified',
      );
    } else if (untold !== null) {
      this.#logger.warn({ worker: untold }, 'worker is over: it was declared dead or renewed too late');
    }
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
    // One that was missed has used up time in which the worker still counts as alive.
    const everyMs = this.#missed ? Math.min(MISSED_AGAIN_MS, this.#heartbeat.everyMs) : this.#heartbeat.everyMs;
    this.#cancel = this.#clock.after(everyMs, () => {
      void this.#beat().finally(() => this.#beatLater());
    });
  }

  async #beat(): Promise<void> {
    const sentAt = stampNow(this.#clock);
    try {
      const id = this.#id;
      if (!this.#over) {
        const renewed = await this.#store.renew(id, this.#heartbeat.timeoutMs, this.#timeline.id);
        // `replace` may have gone on to another id while the renewal was on its way: then it says nothing any more.
        if (id !== this.#id || this.#over) return;
        this.#missed = false;
        if (renewed) {
          this.#freshSince = sentAt;
          return;
        }
        this.#untold = id;
        this.#end();
      }
      await this.#enlist();
    } catch (error) {
      this.#logger[this.#missed ? 'debug' : 'warn']({ worker: this.#id, error }, 'heartbeat did not reach the store');
      this.#missed = true;
    }
  }
}

/** A renewal that did not reach the store is tried again after this pause. */
const MISSED_AGAIN_MS = 500;

/** Before the first worker is enlisted. */
const nowhere: Timeline = { id: '', changedAt: null };
