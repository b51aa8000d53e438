/**
 * Which providers of a seed are reached by `http` under a contract, how they answer, and how much their company is
 * spared. It bends some plans once everything else about them is drawn, from a stream of its own, so that every other
 * seed plays as it always has.
 */

import { type Chance, seeded } from './chance.ts';
import { type ByHttp, keyedKinds } from './contracts.ts';
import { calm, type Fault, faultsOfContracts, faultsOfTheHouse } from './faults.ts';
import type { Care, Plan, Promised, Wanted } from './plan.ts';

/** Chosen so that the seeds that were kept before are not bent. */
const STREAM = 0x68_eb_ee_31;

/** The share of the seeds. */
const SHARE = 0.3;

/** The share of those in which nothing befalls the house itself, and many orders go to one company. */
const BUSY = 0.5;

/** The share of those that tell one of the stories below. */
const STORIES = 0.4;

/** The share of the other seeds in which an effect is told as an error, releases its key, and is shown late. */
const UNSEEN = 0.03;

export function contracted(plan: Plan): Plan {
  const chance = seeded(Math.imul(plan.seed, 0x85_eb_ca_77) ^ STREAM);
  if (!chance.is(SHARE)) return chance.is(UNSEEN) ? unseen(plan, chance) : plan;
  const story = chance.is(STORIES) ? chance.oneOf(stories) : null;
  const reached = (one: Promised, share: number) => (chance.is(share) ? byHttp(one, story, chance) : one);
  const promised = plan.promised.map((one, at) => reached(one, at === 0 ? 1 : 0.7));
  const ofSagas = plan.sagas.promised.map((one) => reached(one, 0.7));
  const rates = { ...plan.rates, ...(story === null ? ratesOf(chance) : { ...quietHouse, ...story.rates }) };
  const bent = { ...plan, care: careFor(chance), promised, rates, sagas: { ...plan.sagas, promised: ofSagas } };
  return chance.is(BUSY) ? busy(bent, chance) : bent;
}

/** Some answers need several things in one operation; each of these makes them likely together. */
interface Story {
  readonly kinds: readonly [ByHttp['kind'], ...ByHttp['kind'][]];
  readonly promised: Partial<Promised>;
  readonly rates: Partial<Record<Fault, number>>;
}

/** Nobody can be asked, and there are attempts left. */
const unasked = { lookup: null, attempts: 4, timeoutMs: 1_000, pauseMs: 100 } as const;

const stories: readonly [Story, ...Story[]] = [
  // Nobody hears of the first answer, and the next one is a refusal: for the key, or for its request.
  {
    kinds: ['replaying', 'resuming', 'success-only', 'telling'],
    promised: unasked,
    rates: { 'request-lost': 0.3, 'reply-lost': 0.4, refused: 0.4, 'late-arrival': 0.2 },
  },
  // An error is kept under the key, or the key is forgotten over it, or it is gone on with.
  {
    kinds: ['replaying', 'success-only', 'resuming', 'tracking'],
    promised: unasked,
    rates: { 'server-error': 0.6, 'reply-lost': 0.4, 'gateway-error': 0.2 },
  },
  // It was done, and who asks again is told so, or cannot read it.
  {
    kinds: ['telling', 'replaying'],
    promised: unasked,
    rates: { 'reply-lost': 0.5, unreadable: 0.5, 'lookup-error': 0.3 },
  },
  // It is told to come again, and later.
  {
    kinds: [...keyedKinds, 'unkeyed'],
    promised: { attempts: 4, timeoutMs: 1_000, pauseMs: 100 },
    rates: { 'rate-limited': 0.6, 'locked-out': 0.3, 'reply-lost': 0.2 },
  },
  // It waits for a connection until it may not leave any more.
  {
    kinds: [...keyedKinds, 'unkeyed'],
    promised: { attempts: 4, sendWithinMs: 500 },
    rates: { 'slow-connection': 0.8, 'no-connection': 0.3, 'reply-lost': 0.2 },
  },
];

/** Who asks too early finds nothing, and who believes that has it done twice. */
function unseen(plan: Plan, chance: Chance): Plan {
  const lookup = { visibleWithinMs: 4_000, arrivalLimitMs: null, everyMs: 500, giveUpAfterMs: 60_000 };
  const told = { attempts: 4, timeoutMs: 1_000, sendWithinMs: 500, pauseMs: 100, lookup };
  const story: Story = {
    kinds: ['success-only', 'tracking'],
    promised: { ...told, keyRetentionMs: 600_000 },
    rates: { 'server-error': 0.6, 'lookup-lag': 0.9 },
  };
  const promised = plan.promised.map((one) => byHttp(one, story, chance));
  return { ...plan, care: careFor(chance), promised, rates: { ...plan.rates, ...calm, ...story.rates } };
}

const quietHouse = Object.fromEntries(faultsOfTheHouse.map((fault) => [fault, 0]));

function busy(plan: Plan, chance: Chance): Plan {
  const more = (one: Wanted, n: number) => ({
    ...one,
    key: `${one.key}-${n}`,
    atMs: one.atMs + chance.between(0, 2_000),
  });
  const wanted = plan.wanted.flatMap((one) => [one, ...[1, 2].map((n) => more(one, n))]);
  return { ...plan, rates: { ...plan.rates, ...quietHouse }, wanted };
}

/** So little of everything that a few orders use it up. */
function careFor(chance: Chance): Care {
  const pauseMs = chance.oneOf([3_000, 10_000]);
  return {
    breaker: {
      withinMs: chance.oneOf([10_000, 30_000]),
      ends: 2 + chance.below(4),
      share: chance.oneOf([0.5, 0.8, 1]),
      pauseMs,
      maxPauseMs: pauseMs * chance.oneOf([1, 2, 3]),
    },
    retryBudget: { retries: 1 + chance.below(3), perMs: chance.oneOf([1_000, 5_000, 10_000]) },
  };
}

/** The same, with a contract; it knows a key for as long as all its attempts may take. */
function byHttp(given: Promised, story: Story | null, chance: Chance): Promised {
  const one = { ...given, ...story?.promised };
  const drawn = one.keyRetentionMs === null ? 'unkeyed' : chance.oneOf(keyedKinds);
  const kind = story === null ? drawn : chance.oneOf(story.kinds);
  const isKeyed = kind !== 'unkeyed';
  const maxPauseMs = Math.max(one.pauseMs, chance.oneOf([1_000, 5_000, 10_000]));
  const further = (one.attempts - 1) * (maxPauseMs + one.timeoutMs);
  const neededMs = one.sendWithinMs + one.timeoutMs + further + (one.lookup?.visibleWithinMs ?? 0);
  const keyRetentionMs = isKeyed ? neededMs + chance.oneOf([1_000, 10_000, 60_000, 600_000]) : null;
  return { ...one, keyRetentionMs, http: { kind, maxPauseMs } };
}

/** What comes before a company looks at the key is rarer, so that much gets as far as that. */
const early: readonly Fault[] = faultsOfContracts.slice(0, faultsOfContracts.indexOf('server-error'));

function ratesOf(chance: Chance): Partial<Record<Fault, number>> {
  return Object.fromEntries(
    faultsOfContracts.map((fault) => [
      fault,
      chance.is(0.5) ? chance.logBetween(0.02, early.includes(fault) ? 0.2 : 0.6) : 0,
    ]),
  );
}
