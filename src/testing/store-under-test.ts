/**
 * A store in the hands of its suites: what they need of it and of a test runner, and the questions and commands that all
 * of them have in common. Whatever must be there and is not throws at once, so that a test fails where it went wrong.
 */

import type {
  OperationRef,
  OperationRow,
  Receipt,
  SagaReceipt,
  SagaRow,
  SagaTurn,
  Start,
  Store,
  Timeline,
  Turn,
} from '../ports/store.ts';
import { fresh } from './store-turns.ts';

/** A store to be tested and the means to move its time and its timeline. */
export interface StoreUnderTest {
  /** Not yet open, the suite opens and closes it; and no worker has ever been enlisted in it. */
  readonly store: Store;
  /** Moves the store's time forward. */
  advance(ms: number): Promise<void>;
  /** Runs `work` while the store's time moves by `advance` only. Left out by stores whose time always does. */
  still?(work: () => Promise<void>): Promise<void>;
  /** Moves the store to a timeline that it has not been on, as a fail-over does. Left out by stores that have only one. */
  failOver?(): Promise<void>;
  /** Removes what was made for the tests, after the store has been closed. */
  dispose(): Promise<void>;
}

/** What the suite needs of a test runner; the functions of vitest and Jest fit as they are. */
export interface TestApi {
  readonly describe: (situation: string, body: () => void) => unknown;
  readonly test: (consequence: string, body: () => Promise<void>) => unknown;
  readonly beforeAll: (body: () => Promise<void>, timeoutMs?: number) => unknown;
  readonly afterAll: (body: () => Promise<void>, timeoutMs?: number) => unknown;
  readonly expect: (value: unknown) => {
    toBe(expected: unknown): unknown;
    toEqual(expected: unknown): unknown;
    toStrictEqual(expected: unknown): unknown;
    toMatchObject(expected: object): unknown;
    toBeLessThan(expected: number): unknown;
    toBeGreaterThanOrEqual(expected: number): unknown;
  };
}

/** What the tests of a suite use. */
export interface Bench {
  readonly verb: () => Store;
  readonly advance: (ms: number) => Promise<void>;
  readonly still: (work: () => Promise<void>) => Promise<void>;
  /** Runs `work` with the means to fail over, or not at all: a store with one timeline promises nothing of others. */
  readonly movable: (work: (failOver: () => Promise<void>) => Promise<void>) => Promise<void>;
  /** The timeline that the last worker was told. */
  readonly here: () => string;
  readonly enlist: (worker: string) => Promise<Timeline>;
  /** A worker that has just been enlisted. */
  readonly enlisted: () => Promise<string>;
  /** Reads what must be there. */
  readonly rowOf: (ref: OperationRef) => Promise<OperationRow>;
  /** Applies a turn that must be written. */
  readonly apply: (turn: Turn) => Promise<Receipt>;
  /** The same of sagas. */
  readonly sagaOf: (ref: OperationRef) => Promise<SagaRow>;
  readonly applySaga: (turn: SagaTurn) => Promise<SagaReceipt>;
  /** A start on the timeline that the store is on, unless it is said. */
  readonly starting: (start?: Partial<Start>) => Start;
}

export function bench(underTest: () => StoreUnderTest): Bench {
  let here = '';
  const verb = (): Store => underTest().store;
  const enlist = async (worker: string): Promise<Timeline> => {
    const timeline = await verb().enlist(worker);
    here = timeline.id;
    return timeline;
  };
  return {
    verb,
    advance: (ms) => underTest().advance(ms),
    async still(work) {
      const held = underTest();
      await (held.still === undefined ? work() : held.still(work));
    },
    async movable(work) {
      const moved = underTest();
      if (moved.failOver !== undefined) await work(async () => moved.failOver?.());
    },
    here: () => here,
    enlist,
    async enlisted() {
      const worker = fresh('worker');
      await enlist(worker);
      return worker;
    },
    async rowOf(ref) {
      const row = await verb().read({ tenant: ref.tenant, id: ref.id });
      if (row === null) throw new Error(`There is no operation ${ref.id}.`);
      return row;
    },
    async apply(turn) {
      const receipt = await verb().turn(turn);
      if (receipt === null) throw new Error(`Turn ${turn.turn} was not written.`);
      return receipt;
    },
    async sagaOf(ref) {
      const row = await verb().readSaga({ tenant: ref.tenant, id: ref.id });
      if (row === null) throw new Error(`There is no saga ${ref.id}.`);
      return row;
    },
    async applySaga(turn) {
      const receipt = await verb().sagaTurn(turn);
      if (receipt === null) throw new Error(`Turn ${turn.turn} was not written.`);
      return receipt;
    },
    starting: (start = {}) => ({
      ...{ sendWithinMs: 5_000, retentionMs: 60_000, marginMs: 8_000, insideWindow: false, timeline: here },
      ...start,
    }),
  };
}
