/**
 * What reaches this process sooner than its next sweep would: wakes, what other processes tell, and commits of callers'
 * transactions. None of it is believed: who holds an aggregate reads it again, and who does not claims it if it is
 * anybody's.
 */

import type { Logger } from '../ports/logger.ts';
import type { OperationRef, Sought } from '../ports/store.ts';
import type { Told, Wake, Waker } from '../ports/waker.ts';
import type { Claims } from './claims.ts';
import type { Driver } from './driver.ts';
import type { Worker } from './worker.ts';

export interface HearingOptions {
  readonly driver: Driver;
  readonly claims: Claims;
  readonly waker: Waker;
  readonly worker: Worker;
  readonly logger: Logger;
  /** It has begun to work, and is not stopping. */
  readonly isWorking: () => boolean;
}

export class Hearing {
  readonly #around: HearingOptions;

  constructor(around: HearingOptions) {
    this.#around = around;
  }

  /** Resolves when what follows is durable, or was left to the sweep. */
  async woken(wake: Wake): Promise<void> {
    const { driver, waker } = this.#around;
    const ref = { tenant: wake.tenant, id: wake.operationId };
    if (!this.#around.isWorking() || driver.woken(wake) || !this.#mayClaim) return;
    if (wake.generation === null) {
      // What was said is heard whether there is room or not. Somebody else holds it otherwise, perhaps elsewhere.
      if ((await this.#claim(ref)) !== 1) waker.tell?.({ kind: 'said', ref });
      return;
    }
    // What has moved on since has a wake of its own. It came to this process only, and another one may have room.
    const claimed = await this.#claimIfRoom({ ...ref, generation: wake.generation });
    if (claimed === null) waker.tell?.({ kind: 'due', ref });
  }

  /** What another process tells. */
  told(news: Told): void {
    if (!this.#mayClaim) return;
    const { driver, claims } = this.#around;
    if (news.kind === 'said') driver.attend(news.ref);
    else if (news.kind === 'due') void this.#claimIfRoom(news.ref);
    else claims.soon();
  }

  /** A transaction of a caller's has committed, somewhere. */
  committed(ref: OperationRef): void {
    if (!this.#mayClaim || this.#around.driver.attend(ref)) return;
    void this.#claimIfRoom(ref);
  }

  get #mayClaim(): boolean {
    return this.#around.isWorking() && this.#around.worker.isFresh;
  }

  /** As `#claim`; null also where there is no room: it is due, and anybody's who has. */
  async #claimIfRoom(sought: Sought): Promise<number | null> {
    const { claims } = this.#around;
    if (claims.hasRoomFor(sought)) return await this.#claim(sought);
    claims.later();
    return null;
  }

  /** How many were claimed; null: nobody knows. */
  async #claim(sought: Sought): Promise<number | null> {
    const { claims, logger } = this.#around;
    try {
      return await claims.one(sought);
    } catch (error) {
      logger.debug({ operation: sought.id, error }, 'a wake did not reach the store; the sweep will');
      return null;
    }
  }
}
