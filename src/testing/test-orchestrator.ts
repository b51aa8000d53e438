/**
 * An orchestrator for a test: in memory, on a clock that moves by hand, with chance that never varies, and without any
 * input or output. Processes of it may die and be replaced; store, clock and the books of the companies outlive them.
 */

import { localWaker } from '../adapters/local/waker.ts';
import { memoryStore } from '../adapters/memory/store.ts';
import type { Duration } from '../domain/duration.ts';
import { type AnyOperation, type AnySaga, orchestrate, type Orchestrator } from '../orchestrator/orchestrator.ts';
import { registered } from '../orchestrator/runnable.ts';
import type { Caller } from '../ports/caller.ts';
import type { Random } from '../ports/random.ts';
import type { Store } from '../ports/store.ts';
import { testClock, type TestClock } from './clock.ts';
import { callerInLife, clockInLife, type Life, newLife, storeInLife } from './life.ts';
import { assertRegistered, type Script, scripted, type ScriptLine } from './script.ts';
import { type AnyRun, settle } from './settle.ts';
import { newBooks, type TestRecord, visiting } from './test-provider.ts';
import { testSender } from './test-sender.ts';

export interface TestOptions {
  /** As for `createOrchestrator`. */
  readonly definitions: readonly (AnyOperation | AnySaga)[];
  /** What attempts meet on their way; in the order in which those of one operation are made. */
  readonly script?: readonly ScriptLine[];
  /** Default `'test'`. */
  readonly tenant?: string;
}

export interface TestOrchestrator {
  /** The one that lives; after a `restart` another one. */
  readonly orchestrator: Orchestrator<true>;
  readonly clock: TestClock;
  /**
   * What the executors of this operation, given itself or by its action, made at test providers, oldest first. Throws
   * DEFINITION_MISSING, and DEFINITION_INVALID when one of them has sent one operation under two keys.
   */
  readonly records: (operation: AnyOperation | string) => readonly TestRecord[];
  /**
   * Moves the clock until the run has ended or waits for somebody, and gives its result; it may be a run of a process
   * that has died since. Rejects when it is still moving after `within` of the test's time (default `'1h'`), and says
   * what it waits for.
   */
  readonly settled: <Result extends { readonly status: string }>(
    run: AnyRun<Result>,
    options?: { readonly within?: Duration },
  ) => Promise<Result>;
  /** The process dies as it is, and nothing of it gets through any more; another one starts on the same store. */
  readonly restart: () => Promise<Orchestrator<true>>;
}

/**
 * Starts an orchestrator for a test. Nothing has to be stopped or closed afterwards. Executors that call
 * {@link testProvider} or `testFetch` have their records counted; what leaves the process otherwise is not waited for.
 *
 * @example
 * const { orchestrator, records, settled } = await testOrchestrator({
 *   definitions: [chargeCard],
 *   script: [reply(chargeCard, 'lost')],
 * });
 * const run = await orchestrator.submit(chargeCard, { orderId: 'order-17', amount: 1200 });
 * expect(await settled(run)).toMatchObject({ status: 'succeeded' });
 * expect(records(chargeCard)).toHaveLength(1);
 */
export async function testOrchestrator(options: TestOptions): Promise<TestOrchestrator> {
  const world = worldOf(options);
  let process = await world.start();
  return {
    get orchestrator() {
      return process.orchestrator;
    },
    clock: world.clock,
    records: world.records,
    settled: async (run, { within = '1h' } = {}) => {
      const result = await world.settledIn(process, () => Promise.resolve(run), within);
      if (result === null) throw new Error('The process was restarted while a run of it was waited for.');
      return result;
    },
    async restart() {
      process.life.end();
      process = await world.start();
      return process.orchestrator;
    },
  };
}

/** Who stands between a process and its surroundings. */
export interface Around {
  store(store: Store): Store;
  caller(caller: Caller): Caller;
}

export interface Process {
  readonly orchestrator: Orchestrator<true>;
  readonly life: Life;
}

/** What outlives the processes of one test. */
export interface World extends Pick<TestOrchestrator, 'clock' | 'records'> {
  readonly script: Script;
  start(around?: (life: Life) => Around): Promise<Process>;
  /** Moves the clock until what is begun has a run, and that has settled or waits. Null: the process died first. */
  settledIn<Result extends { readonly status: string }>(
    process: Process,
    begin: () => Promise<AnyRun<Result>>,
    within?: Duration,
  ): Promise<Result | null>;
}

const nobody: Around = { store: (store) => store, caller: (caller) => caller };

export function worldOf({ definitions, script: lines = [], tenant = 'test' }: TestOptions): World {
  const { operations } = registered(definitions);
  const script = scripted(lines, { operations });
  const clock = testClock();
  const memory = memoryStore({ clock });
  const random = evenRandom();
  const books = newBooks();

  async function start(aroundIt: (life: Life) => Around = () => nobody): Promise<Process> {
    const life = newLife();
    const around = aroundIt(life);
    const visit: Caller = (call, go) => script.caller(call, () => visiting(books, life, call, go));
    const living = clockInLife(life, clock);
    const orchestrator = orchestrate(
      // From both sides: what is held at a kill point goes on into nothing once the process has died.
      { store: storeInLife(life, around.store(storeInLife(life, memory))), definitions, tenant },
      {
        ...{ clock: living, random, waker: localWaker(living), sender: testSender(living) },
        caller: callerInLife(life, around.caller(callerInLife(life, visit))),
      },
    ) as Orchestrator<true>;
    await orchestrator.start();
    return { orchestrator, life };
  }

  return {
    ...{ clock, script, start },
    records(operation) {
      const asked = typeof operation === 'string' ? operation : operation.action;
      assertRegistered(typeof operation === 'string' ? operations.get(operation) : operation, asked, operations);
      assertOneKeyEach(asked);
      return books.records
        .filter(({ action }) => action === asked)
        .map(({ id, kind, key, body }) => ({ id, kind, key, body }));
    },
    async settledIn(process, begin, within = '1h') {
      const result = await settle({ clock, ...process, begin, within });
      for (const action of operations.keys()) assertOneKeyEach(action);
      return result;
    },
  };

  function assertOneKeyEach(action: string): void {
    const fault = books.faults.get(action);
    if (fault !== undefined) throw fault;
  }
}

/** Chance that always falls in the middle, and ids by number: a test that is repeated goes the same way. */
function evenRandom(): Random {
  let ids = 0;
  return {
    number: () => 0.5,
    id() {
      ids += 1;
      return `00000000-0000-4000-8000-${String(ids).padStart(12, '0')}`;
    },
  };
}
