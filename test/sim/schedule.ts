/**
 * One schedule: a plan is carried out event by event, every rule is checked after each, then everything is healed but
 * what the plan keeps, and everything accepted has to end, or wait for a person, within a bounded time. Then persons
 * settle what waits, everybody asks once more, and the processes stop.
 */

import { createHash } from 'node:crypto';
import type { Kept, KeptSaga } from '../../src/adapters/memory/rows.ts';
import { isSagaSettled } from '../../src/domain/saga-state.ts';
import { isSettled } from '../../src/domain/operation-state.ts';
import { snapshotOf } from '../../src/orchestrator/snapshot.ts';
import { keyOf } from '../../src/ports/store.ts';
import { Caller, type Told, type Wish } from './callers.ts';
import { Course, type Violation } from './course.ts';
import { Database } from './database.ts';
import { Fleet } from './fleet.ts';
import { Persons } from './persons.ts';
import { type Cast, type Plan, planOf, type Promised } from './plan.ts';
import { Provider, subjectOf } from './provider.ts';
import { Replies } from './replies.ts';
import { inverseOf, type SagaShape, shapesIn, SHARED, sharedActionOf, stepsIn } from './saga-plan.ts';
import { sharedBookingOf } from './saga-shop.ts';
import { childrenOf, holdersOf, joinedBy, labelOf, meetsOther } from './saga-watch.ts';
import type { Tally } from './tally.ts';
import { subjectOfRow, Watch } from './watch.ts';
import { startWeather } from './weather.ts';
import { Wire } from './wire.ts';

export interface Played {
  readonly plan: Plan;
  readonly events: number;
  /** What happened, line by line. */
  readonly account: readonly string[];
  readonly hash: string;
  readonly violation: Violation | null;
}

/** Carries out the schedule of a seed, counting into `tally`. */
export function play(seed: number, tally: Tally, cast: Cast = 'all'): Promise<Played> {
  return playPlan(planOf(seed, cast), tally);
}

/** Carries out one plan, whoever drew it. */
export async function playPlan(plan: Plan, tally: Tally): Promise<Played> {
  // Out of whatever called: within a tick of Node the next tick would come before the promises have settled.
  await new Promise<void>((resolve) => void setImmediate(resolve));
  const course = new Course(plan, tally);
  const stage = staged(course);
  try {
    await run(course, stage);
  } catch (error) {
    course.violated('simulator', error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  const hash = createHash('sha1').update(course.account.join('\n')).digest('hex');
  const { account, violation } = course;
  return { plan, events: course.agenda.happened, account, hash, violation };
}

type Stage = ReturnType<typeof staged>;

function staged(course: Course) {
  const watch = new Watch(course);
  const database = new Database(course, watch);
  const provider = new Provider(course, watch);
  const replies = new Replies(course, provider);
  watch.observe(database, provider, replies);
  const companies = { provider, replies, watch };
  const fleet = new Fleet(course, { database, provider, companies, wire: new Wire(course) });
  const anybody = () => fleet.anybody();
  const callers = wishesOf(course.plan, watch).map((wish) => new Caller(course, wish, anybody, watch));
  const persons = new Persons(course, database, provider, anybody);
  for (const caller of callers) caller.begin();
  startWeather(course, database, fleet);
  return { watch, database, provider, fleet, callers, persons };
}

/** What is wanted: orders that stand alone, and sagas. */
function wishesOf({ wanted, sagas }: Plan, watch: Watch): readonly Wish[] {
  const alone = wanted.map(({ tenant, action, key, atMs }): Wish => {
    const subject = subjectOf(action, { tenant, order: key });
    const told = (result: Told) => watch.told(subject, result);
    return {
      tenant,
      definition: action,
      key,
      atMs,
      subject,
      terminatesAtMs: null,
      cancelledAtMs: null,
      endedAfterMs: null,
      takenBackAtMs: null,
      words: [],
      heard: () => {},
      isShared: false,
      isRead: false,
      told,
      cancelled: () => {},
    };
  });
  const ofSeveral = sagas.alone.map((wish): Wish => {
    const [definition, key] = [sharedActionOf(SHARED), sharedBookingOf(SHARED)];
    const subject = subjectOf(definition, { tenant: wish.tenant, order: key });
    const told = (result: Told) => watch.told(subject, result);
    return {
      ...{ ...wish, definition, key, subject, told, cancelled: () => {} },
      ...{
        terminatesAtMs: null,
        cancelledAtMs: null,
        endedAfterMs: null,
        words: [],
        heard: () => {},
        isShared: true,
        isRead: false,
      },
    };
  });
  const ofSagas = sagas.wanted.map(
    ({ saga, ...wish }): Wish => ({
      ...wish,
      definition: saga,
      subject: labelOf({ ...wish, name: saga }),
      heard: (word) => watch.sagas.heard(wish.tenant, saga, wish.key, word),
      isShared: false,
      isRead: true,
      told: (result) => watch.sagas.told(wish.tenant, saga, wish.key, result),
      cancelled: (status) => watch.sagas.cancelled(wish.tenant, saga, wish.key, status),
    }),
  );
  return [...alone, ...ofSeveral, ...ofSagas];
}

async function run(course: Course, stage: Stage): Promise<void> {
  const { agenda, chance, plan } = course;
  const { fleet, database, persons, watch } = stage;
  const callPersons = (): void => {
    agenda.after(chance.between(2_000, 20_000), () => {
      if (course.healed) return;
      if (course.strikes('decision')) persons.look();
      callPersons();
    });
  };
  callPersons();

  while (agenda.happened < plan.events && agenda.now < CHAOS_MS && (await step(course)));
  if (course.violation !== null) return;

  course.tell('all', `is healed${plan.keeps === null ? '' : `, except ${plan.keeps}`}`);
  course.healed = true;
  database.heal();
  fleet.heal();
  const limitMs = quietWithin(plan);
  if (!(await until(course, limitMs, () => isQuiet(stage)))) return missed(course, stage, limitMs);

  for (let round = 0; round < ROUNDS && !isSettledAll(stage); round += 1) {
    persons.look();
    await until(course, LOOK_EVERY_MS, () => isQuiet(stage) && isSettledAll(stage));
    if (course.violation !== null) return;
  }
  if (!(await until(course, limitMs, () => isQuiet(stage)))) return missed(course, stage, limitMs);
  // A provider that never answers is never proven to have done nothing: what waits for a person may go on waiting.
  for (const caller of stage.callers) caller.ask();
  await until(course, ASK_MS, () => false);
  if (!(await until(course, limitMs, () => isQuiet(stage)))) return missed(course, stage, limitMs);
  if (plan.keeps !== 'a black-holed provider' && !(await until(course, limitMs, () => isVerified(stage)))) {
    course.violated('liveness', 'what had settled before a fail-over was not verified');
  }

  // What was heard a moment ago is on its way still where the store goes on losing requests.
  await until(course, limitMs, () => watch.untold.length === 0);
  watch.checkAnswers();
  fleet.close();
  fleet.stopAll();
  if (!(await until(course, STOP_MS, () => fleet.living === 0))) {
    course.violated('liveness', `${fleet.living} processes do not stop`);
  }
  watch.checkContradictions();
  for (const process of fleet.all) watch.logged(process);
}

/** The longest that faults strike. */
const CHAOS_MS = 400_000;
const ROUNDS = 12;
const LOOK_EVERY_MS = 15_000;
const ASK_MS = 8_000;
const STOP_MS = 60_000;

async function until(course: Course, withinMs: number, isSo: () => boolean): Promise<boolean> {
  const endsAt = course.agenda.now + withinMs;
  while (course.violation === null) {
    if (isSo()) return true;
    const next = course.agenda.nextAt();
    if (next === null || next > endsAt) return isSo();
    await step(course);
  }
  return true;
}

async function step(course: Course): Promise<boolean> {
  return (await course.agenda.step()) && course.violation === null;
}

/** Everything that was accepted has ended or waits for a person. */
function isQuiet({ callers, database }: Stage): boolean {
  if (callers.some((caller) => !caller.isAccepted && !caller.isLockedOut)) return false;
  return unsettled(database).next().done === true && wordsLeft(database) === 0;
}

/**
 * What has neither ended nor waits for a person. What is being taken back waits for what takes it back, and a saga whose
 * definition was at fault goes on by itself, as does one that others have held who are over; not one that means by what
 * it shares something else than who has it.
 */
function* unsettled({ rows }: Database): Generator<Kept | KeptSaga> {
  for (const row of rows.operations.values()) {
    const isTakenBack = row.state === 'compensating' && (row.saga !== null || hasOpenInverse(row, rows));
    if (!isSettled(row.state) && row.state !== 'escalated' && !isTakenBack) yield row;
  }
  for (const row of rows.sagas.values()) {
    const isHeld = row.reason !== 'joined' || holdersOf(row, rows.sagas).some(({ state }) => !isSagaSettled(state));
    const isMended = row.reason === 'definition-fault' && !meetsOther(row, rows);
    const waitsForPerson = row.state === 'escalated' && !isMended && isHeld;
    if (!isSagaSettled(row.state) && !waitsForPerson && !waitsForAnother(row, rows)) yield row;
  }
}

/** It has joined what waits for a person, or a step of it does that is a saga, and nothing of its own is under way. */
function waitsForAnother(saga: KeptSaga, { operations, sagas }: Database['rows']): boolean {
  const own = [...operations.values()].filter((row) => row.tenant === saga.tenant && row.saga === saga.id);
  const isOver = own.every(({ state }) => isSettled(state) || state === 'escalated');
  if (isOver && childrenOf(saga, sagas).some(({ state }) => state === 'escalated')) return true;
  return (
    isOver && joinedBy(saga).some((id) => operations.get(keyOf({ tenant: saga.tenant, id }))?.state === 'escalated')
  );
}

/** What takes back an operation that stands alone waits for a person. */
function hasOpenInverse({ tenant, action }: Kept, { operations }: Database['rows']): boolean {
  return [...operations.values()].some(
    (row) => row.tenant === tenant && row.action === inverseOf(action) && row.state === 'escalated',
  );
}

/** Hand-overs that wait for what is there; one that a fail-over took with it hears nothing any more. */
function wordsLeft({ rows }: Database): number {
  const isThere = (name: string) => rows.operations.has(name) || rows.sagas.has(name);
  return [...rows.handovers.values()].filter(({ handover }) => isThere(keyOf(handover))).length;
}

/** What had settled shortly before the last fail-over, and can be asked about, has been asked about since. */
function isVerified({ database }: Stage): boolean {
  const { timelines, operations } = database.rows;
  const changedAt = timelines.get(database.timeline);
  if (changedAt === undefined || timelines.size < 2) return true;
  return [...operations.values()].every((row) => {
    // Written by the operation's chart.
    const { context } = snapshotOf(row) as {
      context: { policy: { lookup: unknown }; verified: { on: string } | null };
    };
    const isConcerned = isSettled(row.state) && row.since < changedAt && context.policy.lookup !== null;
    return !isConcerned || context.verified?.on === database.timeline;
  });
}

function isSettledAll({ database }: Stage): boolean {
  const { operations, sagas } = database.rows;
  return (
    [...operations.values()].every(({ state }) => isSettled(state)) &&
    [...sagas.values()].every(({ state }) => isSagaSettled(state))
  );
}

/** By the plan: a take-over, the longest look-ups, every attempt with its pause, and the sweeps between them. */
function quietWithin(plan: Plan): number {
  const { heartbeat, sweepEveryMs, promised, sagas } = plan;
  const takes = ({ timeoutMs, sendWithinMs, attempts, lookup }: Promised) =>
    (attempts + 2) * (timeoutMs + sendWithinMs + 30_000 + sweepEveryMs) + 3 * (lookup?.giveUpAfterMs ?? 0);
  // One step of a saga after the other, and then what takes them back.
  const stepsOfAll = (shape: SagaShape) => shapesIn({ shapes: [shape] }).flatMap(stepsIn).length;
  const steps = Math.max(0, ...sagas.shapes.map((shape) => 2 * stepsOfAll(shape)));
  const longest = Math.max(...promised.map(takes), steps * Math.max(0, ...sagas.promised.map(takes)));
  const pausesMs = sagas.brokenAt === null ? 0 : FAULT_PAUSES_MS;
  return 2 * (heartbeat.timeoutMs + 2 * sweepEveryMs + longest) + 120_000 + pausesMs + illMs(plan, steps);
}

/** While a company stays ill one attempt goes out to it after the other, each after the longest pause. */
function illMs(
  { care, keeps, wanted, promised, sagas }: Pick<Plan, 'care' | 'keeps' | 'wanted' | 'promised' | 'sagas'>,
  steps: number,
) {
  if (care === null || keeps !== 'a black-holed provider') return 0;
  const attempts = (wanted.length + sagas.wanted.length * steps) * (ATTEMPTS_MAX + 1);
  const timeoutMs = Math.max(...[...promised, ...sagas.promised].map((one) => one.timeoutMs));
  return attempts * (care.breaker.maxPauseMs + timeoutMs);
}

const ATTEMPTS_MAX = 5;

/** A definition that was at fault for as long as faults strike is tried again within this. */
const FAULT_PAUSES_MS = 1_000_000;

function missed(course: Course, { database, callers }: Stage, limitMs: number): void {
  if (course.violation !== null) return;
  const rows = [...unsettled(database)].map((row) => {
    const { state, owner, dueAt } = row;
    const subject = 'action' in row ? subjectOfRow(row) : labelOf(row);
    return `${subject} is ${state}, owned by ${owner}, due ${dueAt === null ? 'never' : dueAt - course.now}`;
  });
  const open = callers.filter((caller) => !caller.isAccepted).map(({ subject }) => `${subject} is not accepted`);
  const words = wordsLeft(database) > 0 ? [`${wordsLeft(database)} hand-overs wait`] : [];
  course.violated('liveness', `after ${limitMs / 1000} quiet seconds ${[...rows, ...open, ...words].join('; ')}`);
}
