/**
 * Searches every order of what can happen to one operation of two workers, for each kind of provider, with the
 * decisions and the rules of the store as they are shipped, and tells the shortest story of whatever is wrong.
 *
 * What is bounded, and why little hides behind it:
 *  - Two attempts. A third start is left out and counted; the rules about several attempts fold over them.
 *  - Of crashes, orderly stops and workers that are not heard (two in all), a cancellation and a decision, no more than
 *    two in one path, and no more than one where a key and a look-up stand side by side. Requests and replies that are lost or late, look-ups that cannot tell, and workers that are slow
 *    to do anything at all are not bounded.
 *  - Time goes in ticks, of which every time of a policy is a small number, and a distance that no rule compares any
 *    more counts as gone (`key.ts`).
 *  - A turn is computed and written in one step, from a copy that may be outdated by then, and the store always
 *    answers. What a lost answer of the database does is tried on PostgreSQL, and in the seeded schedules.
 *  - Persons decide truly, and requests arrive as late as `provider.ts` says.
 */

import { Decisions, type Rulings, shipped } from './decisions.ts';
import { type Kind, KINDS, kinds, TICK } from './kinds.ts';
import { type Limits, search, type Violation } from './search.ts';
import { nextSteps } from './steps.ts';
import { shippedRules, type StoreRules, type Surroundings } from './worker.ts';
import { beginning, type World } from './world.ts';

export interface Options {
  /** For every kind; by default as far as each can be searched in a minute or two. */
  readonly limits?: Limits;
  readonly only?: readonly Kind[];
  /** What decides; other rulings than the shipped ones are for tests of the search itself. */
  readonly rulings?: Rulings;
  readonly rules?: StoreRules;
  /** Each kind is searched no further than to the first thing that is wrong. */
  readonly stopsAtFirst?: boolean;
  readonly onKind?: (kind: Kind, so: { readonly states: number; readonly violations: number }) => void;
}

export interface Summary {
  readonly summary: 'sim-exhaustive';
  readonly ok: boolean;
  readonly states: number;
  readonly transitions: number;
  readonly violations: number;
  /** Steps that were left out because they go beyond two attempts. */
  readonly cut: number;
  /** States for each kind of provider. */
  readonly kinds: Readonly<Record<string, number>>;
  readonly ms: number;
}

/** A wrong state, and what led to it. */
export interface Story {
  readonly kind: Kind;
  readonly what: string;
  readonly steps: readonly string[];
}

/** Times that a key and a look-up set side by side make the most states by far: one disturbance less. */
function limitsOf(kind: Kind): Limits {
  const { keyRetentionMs, lookup } = KINDS[kind];
  const disturbances = keyRetentionMs !== null && lookup !== null ? 1 : 2;
  return { attempts: 2, left: { disturbances, faults: 2, cancels: 1, verdicts: 1 } };
}

export function exhaustive({
  limits,
  only = kinds,
  rulings = shipped,
  rules = shippedRules,
  stopsAtFirst = false,
  onKind = () => {},
}: Options = {}): { readonly summary: Summary; readonly stories: readonly Story[] } {
  const began = performance.now();
  const stories: Story[] = [];
  const states: Record<string, number> = {};
  let [all, transitions, violations, cut] = [0, 0, 0, 0];
  for (const kind of only) {
    const policy = KINDS[kind];
    const around: Surroundings = { policy, decisions: new Decisions(policy, rulings), rules, tried: new Set() };
    const bounds = limits ?? limitsOf(kind);
    const found = search(around, bounds, stopsAtFirst);
    states[kind] = found.states;
    all += found.states;
    transitions += found.transitions;
    violations += found.violations;
    cut += found.cut;
    for (const first of found.first) stories.push({ kind, what: first.what, steps: told(around, bounds, first) });
    onKind(kind, found);
  }
  const ok = violations === 0;
  const ms = Math.round(performance.now() - began);
  const summary: Summary = {
    ...{ summary: 'sim-exhaustive', ok, states: all, transitions, violations, cut, kinds: states, ms },
  };
  return { summary, stories };
}

/** Each step with the ticks that have passed by then, and what the store says after it. */
function told(around: Surroundings, limits: Limits, { path }: Violation): readonly string[] {
  const lines: string[] = [];
  const first = beginning(limits.left);
  let world: World = first;
  for (const choice of path) {
    const step = nextSteps(around, limits, world).steps[choice];
    if (step === undefined) throw new Error('A step of the story cannot be found again.');
    world = step.world;
    const { operation } = world.store;
    const state = [operation?.state ?? 'nothing yet', operation?.reason ?? ''].filter(Boolean).join(': ');
    lines.push(`+${(world.now - first.now) / TICK} ${step.says} (${state})`);
  }
  return lines;
}
