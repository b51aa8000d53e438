/**
 * What this process takes up of what is due: no more than it has room for, so that the rest is free for others. While
 * everything fits, the oldest goes first; when more is due than fits, tenants take turns. What has no permit of its own
 * left here, because its tenant or its action has none, is left out, and asked for again when one comes free.
 */

import { isSagacityError } from '../domain/errors.ts';
import { isSagaId } from '../domain/idempotency.ts';
import type { Logger } from '../ports/logger.ts';
import type { OperationRef, ServedSaga, Sought, Store, Turns } from '../ports/store.ts';
import type { AnyRow } from './aggregate.ts';
import type { LeftOut, Permits } from './permits.ts';
import type { Worker } from './worker.ts';

export interface Claiming {
  readonly store: Store;
  readonly logger: Logger;
  readonly permits: Permits;
  readonly worker: Worker;
  readonly actions: readonly string[];
  readonly sagas: readonly ServedSaga[];
  /** It has begun to work, and is not stopping. */
  readonly isWorking: () => boolean;
  /** Resolves when what was claimed has its permit, or its place in line, or waits for something else. */
  readonly takeUp: (row: AnyRow) => Promise<void>;
}

/** Claimed in one statement. */
const CLAIM_LIMIT = 100;

/**
 * Such a part must be free, of all slots or of a limit that was used up, before more is claimed between two sweeps: a
 * claim is a write of its own.
 */
const CLAIM_SHARE = 0.25;

export class Claims {
  readonly #around: Claiming;
  #isClaiming = false;
  /** Claimed or asked for, and it has no permit yet and no place in line. */
  #arriving = 0;
  /** There was more than there was room for when it was last asked, or it could not be asked. */
  #moreIsDue = false;
  /** The last claim was full: from then on tenants take turns, until one of these gives nothing more. */
  #isBacklog = false;
  /** What the last claim left out; there may be more of it. */
  #leftOut: LeftOut = { tenants: [], actions: [] };
  #sagasFirst = false;

  constructor(around: Claiming) {
    this.#around = around;
  }

  /** Whether there is room for what is due here. What a saga waits for need not be a permit. */
  hasRoomFor({ tenant, id }: OperationRef): boolean {
    if (this.#room <= 0) return false;
    return isSagaId(id) || !this.#around.permits.leftOut().tenants.includes(tenant);
  }

  /** For as many more there are slots. */
  get #room(): number {
    return this.#around.permits.free - this.#arriving;
  }

  /** Claims what is due. One at a time. */
  async due(): Promise<void> {
    if (this.#isClaiming) return;
    this.#isClaiming = true;
    try {
      do {
        const room = Math.min(CLAIM_LIMIT, this.#room);
        // Until the store says otherwise, also when it says nothing.
        this.#moreIsDue = true;
        if (room <= 0 || !this.#around.isWorking() || !this.#around.worker.isFresh) return;
        this.#moreIsDue = await this.#claimDue(room);
      } while (this.#moreIsDue);
    } finally {
      this.#isClaiming = false;
    }
  }

  /** Whether there may be more. */
  async #claimDue(room: number): Promise<boolean> {
    this.#leftOut = this.#around.permits.leftOut();
    const { tenants, actions } = this.#leftOut;
    if (!this.#isBacklog && tenants.length + actions.length === 0) {
      this.#isBacklog = (await this.#claim(room)) === room;
      return this.#isBacklog;
    }
    this.#isBacklog = (await this.#claim(room, { without: tenants })) > 0;
    return this.#isBacklog;
  }

  /** Goes on as permits come free, some at a time: a backlog does not wait for the next sweep. */
  more(): void {
    const { permits } = this.#around;
    if (this.#room < permits.size * CLAIM_SHARE) return;
    if (!this.#moreIsDue && !permits.isFreeAgain(this.#leftOut, CLAIM_SHARE)) return;
    this.soon();
  }

  /** As `due`, for whoever waits for nothing of it. */
  soon(): void {
    const { worker, logger } = this.#around;
    this.due().catch((error: unknown) => {
      logger.debug({ worker: worker.id, error }, 'a claim did not reach the store; the sweep will');
    });
  }

  /** Something is due that has no slot, or no permit of its own. */
  later(): void {
    this.#leftOut = this.#around.permits.leftOut();
    const { tenants, actions } = this.#leftOut;
    this.#moreIsDue ||= this.#around.permits.free === 0 || tenants.length + actions.length === 0;
    this.more();
  }

  /** Claims this one, due or not, unless somebody living has it; how many that were. */
  async one(sought: Sought): Promise<number> {
    // Many may be asked for at once: what is on its way takes room until it is known whether it comes.
    this.#arriving += 1;
    try {
      return await this.#claim(1, sought);
    } finally {
      this.#arriving -= 1;
      this.more();
    }
  }

  /** How many were claimed. Sagas and operations that stand alone go first by turns, so that none waits for the others. */
  async #claim(limit: number, which?: Sought | Turns): Promise<number> {
    const { worker, takeUp } = this.#around;
    const claimant = worker.id;
    const kinds = this.#kinds(which);
    let claimed = 0;
    try {
      for (const claimKind of kinds) {
        if (claimed === limit) break;
        const rows = await claimKind(claimant, limit - claimed);
        claimed += rows.length;
        // Each is taken up at once: what is owned and not held would be nobody's.
        for (const row of rows) {
          this.#arriving += 1;
          void takeUp(row).finally(() => {
            this.#arriving -= 1;
            this.more();
          });
        }
      }
      return claimed;
    } catch (error) {
      // Claimed or not, nobody knows which: as a new worker it finds them again when they are due.
      if (isSagacityError(error, 'STORE_IN_DOUBT') && claimant === worker.id) await worker.replace();
      throw error;
    }
  }

  #kinds(which?: Sought | Turns) {
    const { store, sagas } = this.#around;
    const isOne = which !== undefined && 'id' in which;
    const actions = isOne ? this.#around.actions : this.#openActions();
    const sagasOf = (claimant: string, atMost: number): Promise<readonly AnyRow[]> =>
      store.claimSagas(claimant, sagas, atMost, which);
    const operationsOf = (claimant: string, atMost: number): Promise<readonly AnyRow[]> =>
      store.claim(claimant, actions, atMost, which);
    if (isOne) return [isSagaId(which.id) ? sagasOf : operationsOf];
    if (sagas.length === 0) return [operationsOf];
    this.#sagasFirst = !this.#sagasFirst;
    return this.#sagasFirst ? [sagasOf, operationsOf] : [operationsOf, sagasOf];
  }

  #openActions(): readonly string[] {
    const { actions } = this.#leftOut;
    return actions.length === 0 ? this.#around.actions : this.#around.actions.filter((one) => !actions.includes(one));
  }
}
