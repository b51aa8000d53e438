/**
 * The running thing: definitions, ports and the operations this process drives. It begins nothing that is not
 * recorded, and whatever it holds may die with the process at any point: the store has everything that counts.
 */

import { type Duration, milliseconds } from '../domain/duration.ts';
import {
  definitionInvalid,
  definitionMissing,
  idempotencyConflict,
  inputInvalid,
  orchestratorStopped,
} from '../domain/errors.ts';
import { differingPaths } from '../domain/canonical.ts';
import type { Checkup } from '../domain/checkup.ts';
import { decode } from '../domain/codec.ts';
import { isSagaId, sagaId } from '../domain/idempotency.ts';
import type { Json } from '../domain/json.ts';
import { type Limits, limitsOf, refuseTooLong } from '../domain/limits.ts';
import { isSettled } from '../domain/operation-state.ts';
import type { NotApplied, Settling, Succeeded } from '../domain/outcome.ts';
import { isSagaSettled } from '../domain/saga-state.ts';
import type { Migration } from '../define/migration.ts';
import type { Operation } from '../define/operation.ts';
import type { CodeOf, OutputOf } from '../define/result.ts';
import type { SagaParts } from '../define/saga-flow.ts';
import { isSignal, type Signal } from '../define/signal.ts';
import { operationMachine } from '../../machines/operation.ts';
import { kernelOf } from '../kernel/kernel.ts';
import type { CancelTimer, Clock } from '../ports/clock.ts';
import { type Logger, silentLogger } from '../ports/logger.ts';
import type { Caller } from '../ports/caller.ts';
import type { Sender } from '../ports/sender.ts';
import type { Random } from '../ports/random.ts';
import type { OperationRef, SagaVersion, ServedSaga, Store, StoreInTransaction, Transaction } from '../ports/store.ts';
import type { Waker } from '../ports/waker.ts';
import { accept, acceptSaga } from './accept.ts';
import { type Aggregate, type AnyRow, isSagaRow, type Newborn } from './aggregate.ts';
import { memberOf, newOperation, OperationAlone } from './alone.ts';
import {
  cancelSaga,
  compensateOperation,
  compensateSaga,
  existingSaga,
  resolveSaga,
  type StepDecision,
  terminateSaga,
  type Instruction,
} from './command.ts';
import {
  cancel,
  type Cancelled,
  decreed,
  type Decided,
  type Decision,
  type EffectDecided,
  requestLookUp,
  resolve,
} from './decide.ts';
import { ceilingsOf, type LimitOptions } from './ceilings.ts';
import { Claims } from './claims.ts';
import { Driver } from './driver.ts';
import { Hearing } from './hearing.ts';
import { examine } from './examination.ts';
import { type Health, healthOf } from './health.ts';
import { type Doubt, doubtsOf, type EscalatedSaga, escalatedSagasOf } from './lists.ts';
import { Permits } from './permits.ts';
import { retried } from './retry.ts';
import { existing, type Run, runOf, type Submission } from './run.ts';
import { type MigrationReport, migrateSagas, type NotMoved } from './migrate.ts';
import { refuseUnregistered, registered, type Registry, type RunnableSaga, sagaLabel } from './runnable.ts';
import { newSaga, sagaFrom } from './saga.ts';
import { type SagaRun, sagaRunOf } from './saga-run.ts';
import {
  type Addressee,
  sendEvent,
  sendSignal,
  type SignalEvent,
  type SignalOptions,
  type SignalQuestion,
  type SignalStatus,
  signalStatus,
} from './signal.ts';
import { Verification } from './verification.ts';
import { refuseOlder, type VersionInFlight, versionsOf } from './versions.ts';
import { Watchers } from './watchers.ts';
import { Worker } from './worker.ts';

export interface OrchestratorOptions extends LimitOptions {
  /** Where everything durable is: `postgresStore({ url })`, `pgliteStore('./data')`, `memoryStore()`. */
  readonly store: Store;
  /** Everything that is submitted here; the operations of sagas, and inverses, are found by themselves. */
  readonly definitions: readonly (AnyOperation | AnySaga)[];
  /**
   * How sagas that are under way in an older version go on in a newer one: each with its next turn, here. The older version
   * need not be among the definitions.
   */
  readonly migrations?: readonly Migration[];
  /** Fixes the tenant of every call. Without it each call names its own. */
  readonly tenant?: string;
  /** How often the store is asked for what no wake announced. Default `'1s'`. */
  readonly sweepEvery?: Duration;
  /** How often this worker renews its row, and after how long without it is dead. Default `'5s'` and `'15s'`. */
  readonly heartbeat?: { readonly every: Duration; readonly timeout: Duration };
  /**
   * After a fail-over of the database that may have lost commits, what may have been sent without a record is looked up
   * before it is sent again, or sent again under a key that the provider knows, or handed to a person; and what settled
   * as shortly before is looked up once more, and listed as contradicted if its provider says otherwise. You promise that
   * no commit that is lost was older than this when the first worker noticed the fail-over, and that no submission that
   * is lost is repeated later than this after that. Default `'15m'`.
   */
  readonly verifyAfterFailover?: Duration;
  /** How much one thing may be; what is more is refused, or escalates with the reason `limit`. */
  readonly limits?: Partial<Limits>;
  readonly logger?: Logger;
}

/** What the embedding chooses; the defaults are the system's clock, real chance and the in-process waker. */
export interface Ports {
  readonly waker: Waker;
  readonly clock: Clock;
  readonly random: Random;
  readonly caller: Caller;
  readonly sender: Sender;
}

/** Any operation, whatever its types. */
export type AnyOperation = Omit<Operation, '~types'> & { readonly '~types'?: CarriedTypes };

/** Any saga, whatever its types. */
export type AnySaga = SagaParts & { readonly '~types'?: CarriedSagaTypes };

interface CarriedSagaTypes {
  readonly input: unknown;
  readonly output: unknown;
  readonly cause: unknown;
  readonly submitted: unknown;
}

/** What `submit` of this definition returns. */
export type RunOf<Definition extends AnyOperation | AnySaga> = Definition extends AnySaga
  ? SagaRunOf<Definition>
  : Definition extends AnyOperation
    ? Run<OutputOf<Definition>, CodeOf<Definition>>
    : never;

export type SagaRunOf<Definition extends AnySaga> = SagaRun<
  NonNullable<Definition['~types']>['output'],
  NonNullable<Definition['~types']>['cause']
>;

/** A saga by its definition and key, or by the id of its run. */
export type SagaTarget<Definition extends AnySaga = AnySaga> =
  | string
  | { readonly saga: Definition; readonly key: string };

interface CarriedTypes {
  readonly input: unknown;
  readonly output: unknown;
  readonly code: string;
  readonly submitted: unknown;
  readonly undo: unknown;
}

/** `tenant` is left out where `createOrchestrator({ tenant })` fixed it, and demanded where it did not. */
export type PerCall<Fixed extends boolean, Options = unknown> = Fixed extends true
  ? [options?: Options & { readonly tenant?: never }]
  : [options: Options & { readonly tenant: string }];

export type ForTenant<Fixed extends boolean> = Fixed extends true
  ? { readonly tenant?: never }
  : { readonly tenant: string };

export interface SubmitOptions {
  /** Your own transaction: the submission commits with it or not at all. */
  readonly tx?: Transaction;
  /**
   * The id of an operation of this action that is proven to have had no effect: this one is tried in its place, under a
   * key of its own, and may have another input of the same key. Whoever retries the same one meets the same new one. Of
   * operations that stand alone; a saga is submitted again under a new key.
   */
  readonly retryOf?: string;
}

export interface Orchestrator<Fixed extends boolean = boolean> {
  /** Opens the store, takes up what was left and begins to work. Rejects with one clear error when it cannot. */
  start(): Promise<void>;
  /**
   * Begins nothing new, lets what is in flight end for up to `within` (default `'10s'`), then aborts it: its outcome
   * is unknown and is found out after the next start. Closes the store. Calling it again returns the same promise.
   */
  stop(options?: { readonly within?: Duration }): Promise<void>;
  /**
   * Examines the surroundings of this process, before its start or at any time: whether the database is there, fit and
   * open to this user, keeps what it acknowledges, agrees about the time and has room, and whether wakes get through.
   * Changes nothing, and never rejects because of what it finds.
   *
   * @example
   * const { ok, findings } = await orchestrator.check();
   * for (const { check, level, says, remedy } of findings) console.log(level, check, says, remedy ?? '');
   * if (!ok) process.exitCode = 1;
   */
  check(): Promise<Checkup>;
  /**
   * How this process is, from what it knows at the moment; asks nobody, so that probes may call it as often as they like.
   *
   * @example
   * const { live, ready, why } = orchestrator.health();
   * const status = (request.url === '/live' ? live : ready) ? 200 : 503;
   * response.writeHead(status).end(why ?? 'ok');
   */
  health(): Health;
  /**
   * Accepts an operation or a saga once per identity. Resolves when it is durable; of any number of simultaneous
   * submissions of one identity exactly one is executed and the others get the same run. Rejects before anything is done:
   * with INPUT_INVALID, with DEFINITION_INVALID when the saga makes of a sound input none that its first step can be given,
   * or is registered in a newer version too (older ones are there for what is under way), with RESOURCE_LOCKED while
   * another saga has what it locks, and with IDEMPOTENCY_CONFLICT when the identity was used with other parameters.
   *
   * With `tx` it becomes a part of that transaction, which decides about it, and begins after the commit, with the
   * next sweep of a process that works, or at once where the store has it announced; until then its run is not found.
   * Rejects with TRANSACTION_BROKEN when the transaction cannot carry it: roll back and do what its message says. Submit
   * late in the transaction, because other submissions of the same identity wait for its end, and are rejected with
   * STORE_UNAVAILABLE when it takes long.
   *
   * With `retryOf` it is the retry of an operation that has failed, with a key of its own. Rejects with RETRY_REFUSED for
   * anything else, also while nobody knows whether that had an effect.
   *
   * Without `start()` it is stored and waits for a process that works.
   */
  submit<Definition extends AnyOperation | AnySaga>(
    definition: Definition,
    input: NonNullable<Definition['~types']>['submitted'],
    ...options: PerCall<Fixed, SubmitOptions>
  ): Promise<RunOf<Definition>>;
  /** The run of an operation that was submitted before, by its id. Rejects with OPERATION_NOT_FOUND. */
  run(id: string, ...options: PerCall<Fixed>): Promise<Run>;
  /** The run of a saga that was submitted before. Rejects with SAGA_NOT_FOUND. */
  sagaRun<Definition extends AnySaga>(
    target: SagaTarget<Definition>,
    ...options: PerCall<Fixed>
  ): Promise<SagaRunOf<Definition>>;
  /**
   * Asks for an operation to be given up, or for a saga to be taken back; kept with who asked and why. Success wins: of
   * an operation, of a saga, and of a saga's pivot.
   */
  cancel(id: string, options: Instruction & ForTenant<Fixed>): Promise<Cancelled>;
  /**
   * Says something to a saga, once per name and `eventId`: what `signal()` defined, or an event for a machine of your
   * own. When it resolves it is kept, whatever dies; `applied`: the saga has taken it; `waiting`: the saga does not take
   * it yet, or is not there yet, and it stays kept for `keepFor`. Of several that wait the first to come is the first to
   * be taken. Rejects with SIGNAL_REFUSED, naming what the saga takes, when it takes it no more, with
   * IDEMPOTENCY_CONFLICT when the event id was used with another payload, with INPUT_INVALID, and with SAGA_NOT_FOUND for
   * an id that no saga has (within a transaction of yours that is not looked at).
   *
   * @example
   * await orchestrator.signal({ saga: fulfilment, key: 'order-17' }, approved, { by: 'shift-lead' }, { eventId: 'click-81' });
   */
  signal<Submitted>(
    target: SagaTarget,
    signal: Signal<string, unknown, Submitted>,
    payload: NoInfer<Submitted>,
    options: SignalOptions & ForTenant<Fixed>,
  ): Promise<Decided>;
  signal(target: SagaTarget, event: SignalEvent, options: SignalOptions & ForTenant<Fixed>): Promise<Decided>;
  /** What became of a signal or an event that was sent. */
  signalStatus(target: SagaTarget, question: SignalQuestion & ForTenant<Fixed>): Promise<SignalStatus>;
  readonly operator: Operator<Fixed>;
}

/** Of a list up to `limit`, after the last one of the page before. */
type PageOf<Place, Fixed extends boolean> = { readonly limit?: number; readonly after?: Place } & (Fixed extends true
  ? { readonly tenant?: never }
  : { readonly tenant?: string });

/** The commands of who settles what could not be proven. */
export interface Operator<Fixed extends boolean = boolean> {
  /** Operations in doubt, longest first, a page at a time; with a fixed tenant only that tenant's. */
  doubts(options?: PageOf<Pick<Doubt, 'tenant' | 'id'>, Fixed>): Promise<readonly Doubt[]>;
  /**
   * Sagas that are escalated, because of an operation in doubt or by themselves, longest first, a page at a time; with a
   * fixed tenant only that tenant's.
   */
  escalatedSagas(
    options?: PageOf<Pick<EscalatedSaga, 'tenant' | 'id' | 'since'>, Fixed>,
  ): Promise<readonly EscalatedSaga[]>;
  /**
   * The versions of sagas: how many run in each, and whether this process can run it. What runs in one that no process
   * has waits. With a fixed tenant only that tenant's.
   */
  versions(
    options?: Fixed extends true ? { readonly tenant?: never } : { readonly tenant?: string },
  ): Promise<readonly VersionInFlight[]>;
  /**
   * What a registered migration makes of the sagas that are under way in the version that it leads from, a page at a time.
   * With `dryRun` nothing is written. Without it, those that it moves are told to: they need not wait for what they would
   * have done next. Rejects with DEFINITION_INVALID for one that is not registered here.
   */
  migrate(
    migration: Migration,
    options?: PageOf<Pick<NotMoved, 'tenant' | 'id'>, Fixed> & { readonly dryRun?: boolean },
  ): Promise<MigrationReport>;
  /**
   * Settles an escalated operation, or grants it one more attempt with `notApplied(reason)`. Of one whose inverse was
   * refused, or could not be begun, a person says that they took it back by hand, or that it is left standing.
   */
  resolve(
    id: string,
    outcome: Settling | NotApplied | EffectDecided,
    decision: Decision & ForTenant<Fixed>,
  ): Promise<Decided>;
  /**
   * Decides a saga that is escalated because a step after its pivot was refused: `succeeded(output)` stands for the
   * step's output, `notApplied(reason)` takes the step again.
   */
  resolveStep(
    id: string,
    outcome: Succeeded<unknown> | NotApplied,
    decision: StepDecision & ForTenant<Fixed>,
  ): Promise<Decided>;
  /**
   * Takes back what a settled saga or an operation that stands alone did, as far as there are inverses; that it is durable
   * does not say that it is done yet. Of a saga that is being taken back and waits for what is in doubt, it takes back
   * meanwhile what is proven. Rejects with RESOLUTION_REFUSED for what has not succeeded, for an operation without an
   * inverse, of a saga, or joined by a saga that is open; with DEFINITION_INVALID, and nothing is changed, when the
   * inverse of an operation that stands alone cannot be given its input. One that waits for a person because of that
   * (`definition-fault`) goes on being taken back.
   */
  compensate(id: string, instruction: Instruction & ForTenant<Fixed>): Promise<Decided>;
  /**
   * Ends a saga as it stands: nothing more is sent, be it a step or an inverse, and what an inverse that was not sent would
   * have taken back stands. What was sent is found out, and then it is terminated. `compensate` can take it back later.
   * Sagas that are its steps are ended, and taken back, with it.
   */
  terminate(id: string, instruction: Instruction & ForTenant<Fixed>): Promise<Decided>;
  /** Asks the provider once more about an escalated operation. */
  lookUp(id: string, decision: Decision & ForTenant<Fixed>): Promise<Decided>;
}

/** Of every orchestrator in this process: it holds nothing. */
const operationKernel = kernelOf(operationMachine);

/** Of what was handed over, looked for in one statement. */
const HANDED_OVER_LIMIT = 100;

/** How long a stop waits for aborted executors and for the store, beyond its own `within`. */
const STOP_PATIENCE_MS = 300;

/** How long it waits for the store to close: until then a directory stays locked. */
const CLOSE_PATIENCE_MS = 1_300;

export function orchestrate(options: OrchestratorOptions, ports: Ports): Orchestrator {
  const { store } = options;
  const { clock, random, waker, caller, sender } = ports;
  const logger = harmless(options.logger ?? silentLogger);
  const limits = limitsOf(options.limits);
  const registry = registered(options.definitions, options.migrations, limits);
  const { operations: definitions, sagas } = registry;
  const actions = [...definitions.keys()];
  const served = [...sagas.values()].map(servedAs);
  const sweepEveryMs = pauseMs(options.sweepEvery ?? '1s', 'sweepEvery');
  const heartbeat = {
    everyMs: pauseMs(options.heartbeat?.every ?? '5s', 'heartbeat.every'),
    timeoutMs: milliseconds(options.heartbeat?.timeout ?? '15s', 'heartbeat.timeout'),
  };
  if (heartbeat.timeoutMs < 2 * heartbeat.everyMs) {
    throw definitionInvalid(
      'heartbeat.timeout is less than twice heartbeat.every.',
      'Allow at least one lost renewal.',
    );
  }
  const permits = new Permits(
    ceilingsOf(options, definitions),
    clock,
    () => claims.more(),
    (provider, state, before) => {
      if (state === 'closed') logger.info({ provider }, 'breaker closed: attempts go out to this provider again');
      else if (before === 'closed') logger.warn({ provider }, 'breaker opened: no attempt is begun at this provider');
    },
  );
  const watchers = new Watchers(waker);
  const verifyAfterFailoverMs = milliseconds(options.verifyAfterFailover ?? '15m', 'verifyAfterFailover');
  const worker = new Worker(
    { store, clock, random, logger },
    heartbeat,
    () => driver.dropAll(),
    (timeline) => verification.begin(timeline),
  );
  const driver: Driver = new Driver({
    ...{ store, waker, clock, random, caller, sender, limits, logger, permits, watchers, worker },
    aggregateFrom: (row) => aggregateFrom(row, registry),
    verifyAfterFailoverMs,
    onBacklog(ref) {
      claims.later();
      // Another process may have room for it.
      if (!claims.hasRoomFor(ref)) waker.tell?.({ kind: 'due', ref });
    },
  });
  const isWorking = () => phase === 'started';
  const claims = new Claims({
    ...{ store, logger, permits, worker, actions, sagas: served, isWorking },
    takeUp: (row) => driver.takeUp(row),
  });

  const hearing = new Hearing({ driver, claims, waker, worker, logger, isWorking });

  const verification = new Verification({
    ...{ store, clock, caller, sender, limits, logger, permits, driver, definitions },
    spanMs: verifyAfterFailoverMs,
  });

  let phase: Exclude<Health['phase'], 'starting'> = 'new';
  let opening: Promise<void> | null = null;
  let starting: Promise<void> | null = null;
  let stopping: Promise<void> | null = null;
  let cancelSweep: CancelTimer = () => {};
  let endHints = () => {};
  let sweeping: Promise<void> = Promise.resolve();
  let storeAnswers = true;
  /** When the last sweep was over, or the first one began, by the monotonic clock; null: there was none. */
  let sweptAt: number | null = null;
  let hasSwept = false;

  function open(): Promise<void> {
    opening ??= store.open().then(
      () => waker.open?.(store.ledger?.() ?? store.name, logger),
      (error: unknown) => {
        opening = null;
        throw error;
      },
    );
    return opening;
  }

  async function start(): Promise<void> {
    if (stopping !== null) throw orchestratorStopped('start');
    starting ??= begin().catch((error: unknown) => {
      starting = null;
      throw error;
    });
    return starting;
  }

  async function begin(): Promise<void> {
    await sender.open();
    await open();
    if (stopping !== null) throw orchestratorStopped('start');
    await worker.start();
    await waker.start(
      (wake) => hearing.woken(wake),
      (news) => hearing.told(news),
    );
    if (stopping !== null) throw orchestratorStopped('start');
    endHints = store.onCommitted?.((ref) => hearing.committed(ref)) ?? endHints;
    phase = 'started';
    sweptAt = clock.monotonic();
    await sweep();
    hasSwept = true;
    if (stopping === null) sweepLater();
  }

  function sweepLater(): void {
    cancelSweep = clock.after(sweepEveryMs, () => {
      sweeping = sweep();
      void sweeping.finally(() => {
        sweptAt = clock.monotonic();
        if (phase === 'started') sweepLater();
      });
    });
  }

  /** Finds what no wake announced: what is due, what was handed over, what dead workers left. */
  async function sweep(): Promise<void> {
    // A worker that does not know whether it is alive takes nothing up.
    if (!worker.isFresh) return;
    driver.goOnDue();
    try {
      await store.bury(worker.id, { timeoutMs: heartbeat.timeoutMs });
      for (const ref of await store.handedOver(worker.id, HANDED_OVER_LIMIT)) driver.attend(ref);
      await claims.due();
      if (!storeAnswers) logger.info({ worker: worker.id }, 'the store answers again');
      storeAnswers = true;
    } catch (error) {
      // Said once; an outage of minutes would fill a log otherwise.
      logger[storeAnswers ? 'warn' : 'debug'](
        { worker: worker.id, error },
        'sweep did not reach the store; the next one will',
      );
      storeAnswers = false;
    }
  }

  async function stop(withinMs: number): Promise<void> {
    const wasStarted = starting !== null;
    phase = 'stopping';
    cancelSweep();
    endHints();
    driver.drain();
    verification.stop();
    const inFlight = Promise.allSettled([starting, waker.stop(), sweeping]).then(() => driver.idle());
    if (!(await soon(inFlight, withinMs))) {
      driver.abort();
      await soon(driver.idle(), STOP_PATIENCE_MS);
    }
    const later = driver.dueLater();
    driver.close();
    watchers.close();
    void sender.close().catch(() => {});
    worker.stop();
    if (wasStarted && (await soon(worker.retire(), STOP_PATIENCE_MS))) leave(later);
    if (opening !== null) await soon(Promise.all([store.close(), waker.close?.()]), CLOSE_PATIENCE_MS);
    phase = 'stopped';
  }

  function health(): Health {
    const isStarting = starting !== null && !hasSwept && (phase === 'new' || phase === 'started');
    return healthOf({
      phase: isStarting ? 'starting' : phase,
      worker: { id: worker.id === '' ? null : worker.id, isFresh: worker.isFresh },
      store: { name: store.name, answered: storeAnswers },
      waker: { isConnected: waker.state?.().isConnected ?? null },
      inFlight: driver.inFlight,
      slots: { taken: permits.size - permits.free, size: permits.size },
      breakers: permits.breakers,
      sinceSweepMs: sweptAt === null ? null : clock.monotonic() - sweptAt,
      sweepEveryMs,
      heartbeatTimeoutMs: heartbeat.timeoutMs,
    });
  }

  /** What this process held is anybody's: what is due is looked for at once, and the rest is waited for elsewhere. */
  function leave(later: ReturnType<Driver['dueLater']>): void {
    waker.tell?.({ kind: 'freed' });
    for (const { wake, waitMs } of later) waker.wake(wake, waitMs, 'anybodys');
  }

  /** True if `work` ended in time. */
  async function soon(work: Promise<unknown>, withinMs: number): Promise<boolean> {
    let cancelTimer: CancelTimer = () => {};
    const late = new Promise<false>((resume) => {
      cancelTimer = clock.after(withinMs, () => resume(false));
    });
    const ended = work.then(
      () => true,
      (error: unknown) => {
        logger.warn({ error }, 'something did not stop cleanly');
        return true;
      },
    );
    const inTime = await Promise.race([ended, late]);
    cancelTimer();
    return inTime;
  }

  async function ready(verb: string): Promise<void> {
    if (stopping !== null) throw orchestratorStopped(verb);
    await open();
  }

  function tenantOf(given: { readonly tenant?: string | undefined } | undefined): string {
    // A tenant that is missing or malformed is refused where identities are made.
    return options.tenant ?? given?.tenant ?? '';
  }

  async function submit(
    given: AnyOperation | AnySaga,
    submitted: unknown,
    perCall?: SubmitOptions & { readonly tenant?: string },
  ): Promise<Run<never, never> | SagaRun<never, never>> {
    if (perCall !== undefined && 'tx' in perCall && perCall.tx === undefined) {
      // Taken for none it would be sent although the caller rolled back.
      throw inputInvalid('tx is undefined. Leave it out, or give the transaction.');
    }
    const isOfSaga = given.type === 'saga';
    if (isOfSaga && perCall?.retryOf !== undefined) {
      throw inputInvalid(
        `Saga ${given.name} was submitted with retryOf. Submit it under a new key: what it did is taken back.`,
      );
    }
    const newborn = isOfSaga
      ? await newSagaOf(given, submitted, perCall)
      : await newOperationOf(given, submitted, perCall);
    refuseTooLong(`The input of ${isOfSaga ? given.name : given.action}`, newborn.input, limits);
    await ready('submit');
    const met =
      perCall?.tx === undefined
        ? await driver.submit(newborn, phase === 'started')
        : await driver.submitWithin(newborn, await within(perCall.tx));
    const run = ({ tenant, id }: OperationRef, submission: Submission) =>
      isOfSaga
        ? sagaRunOf<never, never>({ tenant, id }, submission, viewing)
        : runOf<never, never>({ tenant, id }, submission, viewing);
    if (met.created) return run(newborn.ref, 'new');
    const { row } = met;
    if (row.fingerprint !== newborn.fingerprint) throw conflictWith(row, newborn);
    const isOver = isSagaRow(row) ? isSagaSettled(row.state) : isSettled(row.state);
    return run(row, isOver ? 'replayed' : 'joined');
  }

  type Submitted = Newborn & {
    readonly fingerprint: string;
    readonly input: Json;
    readonly volatile: readonly string[];
  };

  async function newOperationOf(
    given: AnyOperation,
    submitted: unknown,
    perCall?: SubmitOptions & { readonly tenant?: string },
  ): Promise<Submitted> {
    const definition = definitions.get(given.action);
    refuseUnregistered(given.action, given, definition);
    const accepted = await accept(definition, tenantOf(perCall), submitted);
    if (perCall?.retryOf !== undefined) await ready('submit');
    const { ref, birth, retryOf } =
      perCall?.retryOf === undefined ? { ...accepted, retryOf: null } : await retried(store, accepted, perCall.retryOf);
    const { fingerprint, input } = birth;
    return {
      ...newOperation(definition, ref, birth, operationKernel, retryOf),
      fingerprint,
      input,
      volatile: definition.volatile,
    };
  }

  async function newSagaOf(
    given: AnySaga,
    submitted: unknown,
    perCall?: { readonly tenant?: string },
  ): Promise<Submitted> {
    const saga = sagas.get(sagaLabel(given));
    refuseUnregistered(given.name, given, saga?.definition);
    refuseOlder(saga, registry);
    const { ref, birth, input } = await acceptSaga(saga, tenantOf(perCall), submitted);
    return {
      ...newSaga(saga, ref, birth, input, operationKernel),
      fingerprint: birth.fingerprint,
      input: birth.input,
      volatile: [],
    };
  }

  function conflictWith(row: AnyRow, { fingerprint: submittedFingerprint, input, volatile }: Submitted): Error {
    const { tenant, key, id: operationId, fingerprint } = row;
    return idempotencyConflict({
      ...{ tenant, key, operationId, fingerprint, submittedFingerprint },
      action: isSagaRow(row) ? row.name : row.action,
      paths: differingPaths(decode(row.input), decode(input), { volatile }),
    });
  }

  async function within(transaction: Transaction): Promise<StoreInTransaction> {
    if (store.within !== undefined) return await store.within(transaction);
    throw definitionInvalid(
      `The ${store.name} store cannot join a transaction.`,
      'Submit without tx, or use a store on the database of the transaction.',
    );
  }

  const refOf = (id: string, given?: { readonly tenant?: string | undefined }): OperationRef => ({
    tenant: tenantOf(given),
    id,
  });
  const sagaRefOf = (target: SagaTarget, given?: { readonly tenant?: string | undefined }): OperationRef => {
    if (typeof target === 'string') return refOf(target, given);
    return refOf(sagaId({ tenant: tenantOf(given), action: target.saga.name, key: target.key }), given);
  };
  const sagaOf = (row: SagaVersion) => {
    const saga = sagas.get(sagaLabel(row));
    if (saga === undefined) throw definitionMissing(row.name);
    return saga;
  };
  const viewing = { store, clock, watchers, logger, sagaOf };
  const deciding = { ...viewing, driver, definitions, limits };

  return {
    start,
    stop(how = {}) {
      try {
        stopping ??= stop(milliseconds(how.within ?? '10s', 'within'));
      } catch (error) {
        // Nothing has stopped: a bad duration changes nothing.
        return Promise.reject(error);
      }
      return stopping;
    },
    check: () => examine({ store, waker, clock, concurrency: permits.size }),
    health,
    // What is submitted decides which kind of run there is, and the compiler follows it by the definition's type.
    submit: (definition, input, ...[perCall]) => submit(definition, input, perCall) as Promise<never>,
    async run(id, ...[perCall]) {
      await ready('run');
      const ref = refOf(id, perCall);
      const row = await existing(store, ref);
      return runOf(ref, isSettled(row.state) ? 'replayed' : 'joined', viewing);
    },
    async sagaRun(target, ...[perCall]) {
      await ready('sagaRun');
      const ref = sagaRefOf(target, perCall);
      const { state } = await existingSaga(store, ref);
      return sagaRunOf(ref, isSagaSettled(state) ? 'replayed' : 'joined', viewing);
    },
    async cancel(id, { ...who }) {
      await ready('cancel');
      const ref = refOf(id, who);
      return isSagaId(id) ? cancelSaga(deciding, ref, who) : cancel(deciding, ref, who);
    },
    async signal(target: SagaTarget, what: Signal | SignalEvent, ...rest: readonly unknown[]) {
      const options = signalOptionsIn(rest);
      await ready('signal');
      const to: Addressee = { ref: sagaRefOf(target, options), mayBeMissing: typeof target !== 'string' };
      const sending = { ...deciding, within };
      return isSignal(what)
        ? sendSignal(sending, to, what, rest[0], options)
        : sendEvent(sending, to, what as SignalEvent, options);
    },
    async signalStatus(target, { ...question }) {
      await ready('signalStatus');
      return signalStatus({ store }, sagaRefOf(target, question), question);
    },
    operator: {
      async doubts(query = {}) {
        await ready('operator.doubts');
        return doubtsOf(store, { ...query, tenant: options.tenant ?? query.tenant ?? null });
      },
      async escalatedSagas(query = {}) {
        await ready('operator.escalatedSagas');
        return escalatedSagasOf(store, { ...query, tenant: options.tenant ?? query.tenant ?? null });
      },
      async versions(query = {}) {
        await ready('operator.versions');
        return versionsOf(store, registry, options.tenant ?? query.tenant ?? null);
      },
      async migrate(migration, query = {}) {
        await ready('operator.migrate');
        const asked = { ...query, tenant: options.tenant ?? query.tenant ?? null };
        return migrateSagas({ store, clock, driver, registry, kernel: operationKernel }, migration, asked);
      },
      async resolve(id, outcome, { ...decision }) {
        const said = decreed(id, outcome);
        await ready('operator.resolve');
        return resolve(deciding, refOf(id, decision), said, decision);
      },
      async resolveStep(id, outcome, { ...decision }) {
        await ready('operator.resolveStep');
        return resolveSaga(deciding, refOf(id, decision), outcome, decision);
      },
      async compensate(id, { ...instruction }) {
        await ready('operator.compensate');
        const ref = refOf(id, instruction);
        return isSagaId(id)
          ? compensateSaga(deciding, ref, instruction)
          : compensateOperation(deciding, ref, instruction);
      },
      async terminate(id, { ...instruction }) {
        await ready('operator.terminate');
        return terminateSaga(deciding, refOf(id, instruction), instruction);
      },
      async lookUp(id, { ...decision }) {
        await ready('operator.lookUp');
        return requestLookUp(deciding, refOf(id, decision), decision);
      },
    },
  };
}

/** They come last, after a payload or without one. */
function signalOptionsIn(given: readonly unknown[]): SignalOptions & { readonly tenant?: string } {
  const options = given.at(-1);
  if (typeof options !== 'object' || options === null || given.length > 2) {
    throw inputInvalid("signal has no options. Write signal(target, signal, payload, { eventId: 'click-81' }).");
  }
  if ('tx' in options && options.tx === undefined) {
    throw inputInvalid('tx is undefined. Leave it out, or give the transaction.');
  }
  // What is in it is looked at where it is used.
  return options as SignalOptions;
}

/** A logger of the host's that throws must not stop what it only tells about. */
function harmless(logger: Logger): Logger {
  const safely = (level: keyof Logger) => (facts: object, message: string) => {
    try {
      logger[level](facts, message);
    } catch {
      // Nobody can be told: telling is what failed.
    }
  };
  return { debug: safely('debug'), info: safely('info'), warn: safely('warn'), error: safely('error') };
}

/** What comes round again needs a pause: without one the sweep would never rest and no renewal would ever be fresh. */
function pauseMs(given: Duration, name: string): number {
  const ms = milliseconds(given, name);
  if (ms > 0) return ms;
  throw definitionInvalid(`${name} is no time at all.`, 'Write a duration longer than 0.', { option: name });
}

/** What it can go on from: the chart that it has, or any, where it moves sagas on or adopts what has changed. */
function servedAs({ name, version, hash, onward, definition }: RunnableSaga): ServedSaga {
  const isBound = onward === null && definition.whenChanged === 'escalate';
  return { name, version, ...(isBound ? { hash } : {}) };
}

/** Makes an aggregate of what is stored. Throws when this version cannot read it. */
function aggregateFrom(row: AnyRow, { operations, sagas }: Registry): Aggregate {
  if (!isSagaRow(row)) return new OperationAlone(memberOf(row, operations), operationKernel);
  const saga = sagas.get(sagaLabel(row));
  if (saga === undefined) throw definitionMissing(row.name);
  return sagaFrom(row, saga, operations, operationKernel);
}
