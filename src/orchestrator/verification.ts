/**
 * After a fail-over that may have lost commits, what settled shortly before it is asked about once more: a word that
 * contradicted it may be gone, and the process that had it too. The provider's answer is handed over like any other
 * word, so that it is recorded once, whoever asked; it moves nothing, and a contradiction is shown to a person.
 */

import type { Limits } from '../domain/limits.ts';
import { decode } from '../domain/codec.ts';
import { isSagacityError } from '../domain/errors.ts';
import type { Operation } from '../define/operation.ts';
import type { LookupAnswer } from '../../machines/operation.ts';
import type { Caller } from '../ports/caller.ts';
import type { CancelTimer, Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Sender } from '../ports/sender.ts';
import type { OperationRef, OperationRow, Store, Timeline } from '../ports/store.ts';
import { addressed } from './aggregate.ts';
import type { Driver } from './driver.ts';
import { lookUp } from './look-up.ts';
import type { Permits } from './permits.ts';
import { contextOf, fromStored } from './row.ts';

export interface Verifying {
  readonly store: Store;
  readonly clock: Clock;
  readonly caller: Caller;
  readonly sender: Sender;
  readonly limits: Limits;
  readonly logger: Logger;
  readonly permits: Permits;
  readonly driver: Driver;
  readonly definitions: ReadonlyMap<string, Operation>;
  /** How long before a fail-over, and for how long after it. */
  readonly spanMs: number;
}

/** Asked at once, beside the slots: what is due does not wait for it, except for what its company may be asked. */
const AT_ONCE = 4;

/** Read from the store at once. */
const PAGE = 50;

/** Pause before what could not be asked, or was not clear, is asked again. */
const AGAIN_MS = 30_000;

/** The fail-over after which it is asked. */
interface Since {
  readonly timeline: string;
  readonly changedAt: number;
}

/** Whether everything that there is to ask has been asked. */
type Pass = 'done' | 'again' | 'too late';

export class Verification {
  readonly #around: Verifying;
  readonly #asking = new Set<AbortController>();
  #timeline = '';
  #cancel: CancelTimer = () => {};
  #stopped = false;
  /** Something was asked here, so that what is left open is worth a word. */
  #hasAsked = false;

  constructor(around: Verifying) {
    this.#around = around;
  }

  /** The worker is on this timeline now. Begins once for each that another one went before. */
  begin(timeline: Timeline): void {
    if (timeline.changedAt === null || timeline.id === this.#timeline) return;
    this.#timeline = timeline.id;
    this.#cancel();
    void this.#go(timeline.id, timeline.changedAt);
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
    for (const abort of this.#asking) abort.abort(new Error('The orchestrator is stopping.'));
  }

  async #go(timeline: string, changedAt: number): Promise<void> {
    const pass = await this.#pass(timeline, changedAt).catch((error: unknown): Pass => {
      const level = isSagacityError(error) && error.retryable ? 'debug' : 'error';
      this.#around.logger[level]({ timeline, error }, 'what settled before a fail-over could not be verified yet');
      return 'again';
    });
    if (pass === 'too late') {
      this.#around.logger.warn(
        { timeline },
        'not everything that settled before a fail-over could be verified in time',
      );
    }
    if (pass !== 'again' || !this.#isCurrent(timeline)) return;
    this.#cancel = this.#around.clock.after(AGAIN_MS, () => void this.#go(timeline, changedAt));
  }

  #isCurrent(timeline: string): boolean {
    return !this.#stopped && timeline === this.#timeline;
  }

  async #pass(timeline: string, changedAt: number): Promise<Pass> {
    const { store, definitions, spanMs } = this.#around;
    const actions = [...definitions.values()]
      .filter(({ options }) => options.find !== null)
      .map(({ action }) => action);
    if (actions.length === 0) return 'done';
    let after: OperationRef | null = null;
    let pass: Pass = 'done';
    while (this.#isCurrent(timeline)) {
      const query = { actions, from: changedAt - spanMs, to: changedAt, limit: PAGE, after };
      const rows: readonly OperationRow[] = await store.settledBetween(query);
      // A process that starts long after has nothing to say about it.
      if (rows.some(({ now }) => now > changedAt + 2 * spanMs)) return this.#hasAsked ? 'too late' : 'done';
      for (let from = 0; from < rows.length; from += AT_ONCE) {
        const verified = await Promise.all(
          rows.slice(from, from + AT_ONCE).map((row) => this.#verify(row, { timeline, changedAt })),
        );
        if (verified.includes(false)) pass = 'again';
      }
      if (rows.length < PAGE) return pass;
      after = rows.at(-1) ?? null;
    }
    return 'done';
  }

  /** True once nothing more is to be asked about it. What cannot be read is said, and holds up nothing else. */
  async #verify(row: OperationRow, since: Since): Promise<boolean> {
    const { tenant, id } = row;
    try {
      const { verified } = contextOf(fromStored(row));
      return (verified !== null && verified.changedAt >= since.changedAt) || (await this.#ask(row, since));
    } catch (error) {
      const passes = isSagacityError(error) && error.retryable;
      this.#around.logger[passes ? 'debug' : 'error']({ operation: id, tenant, error }, 'operation cannot be verified');
      return !passes;
    }
  }

  /** True once the answer is handed over: under one id for each fail-over, whoever asked. */
  async #ask(row: OperationRow, since: Since): Promise<boolean> {
    const { permits, driver, definitions } = this.#around;
    const { id, tenant, action, providerKey: idempotencyKey, now: beganAt } = row;
    const definition = definitions.get(action);
    if (definition === undefined || !this.#isCurrent(since.timeline)) return true;
    if (row.handovers.length > 0) return false;
    this.#hasAsked = true;
    const permit = await permits.takeBeside({ tenant, action, kind: 'look-up' });
    if (permit === null || !this.#isCurrent(since.timeline)) {
      permit?.giveBack();
      return false;
    }
    permit.use();
    const abort = new AbortController();
    this.#asking.add(abort);
    try {
      const { timeoutMs, contract } = contextOf(fromStored(row)).policy;
      const input = decode(row.input);
      const looked = { ref: row, definition, input, idempotencyKey, contract, timeoutMs, beganAt, abort };
      const { answer } = await lookUp(looked, this.#around);
      if (!isClear(answer, row) || !this.#isCurrent(since.timeline)) return false;
      const { to, said } = addressed(row, { kind: 'verification', ...since, ...answer });
      await driver.handOver(to, said, `verification ${since.timeline} ${id}`);
      return true;
    } finally {
      this.#asking.delete(abort);
      permit.giveBack();
    }
  }
}

/** That a record is missing says something once it would have been visible. */
function isClear({ finding, beganAt }: LookupAnswer, row: OperationRow): boolean {
  if (finding.type !== 'absent') return finding.type !== 'inconclusive';
  const { lookup } = contextOf(fromStored(row)).policy;
  return lookup !== null && beganAt >= row.since + lookup.visibleWithinMs;
}
