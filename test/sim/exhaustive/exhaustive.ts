/**
 * Searches every kind of provider one after the other, with the decisions and the rules of the store as they are
 * shipped, and tells the shortest story of what is wrong.
 */

import { Decisions, type Rulings, shipped } from './decisions.ts';
import { type Kind, KINDS, kinds } from './kinds.ts';
import { type Limits, search } from './search.ts';
import { nextSteps } from './steps.ts';
import { shippedRules, type StoreRules, type Surroundings } from './worker.ts';
import { beginning, type World } from './world.ts';

export interface Options {
  readonly limits?: Limits;
  readonly only?: readonly Kind[];
  /** What decides; other rulings than the shipped ones are for tests of the search itself. */
  readonly rulings?: Rulings;
  readonly rules?: StoreRules;
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

/** Two workers, two crashes, and beside them one thing that goes wrong on the way, one cancellation, one decision. */
export const usualLimits: Limits = {
  attempts: 2,
  left: { disturbances: 1, faults: 2, cancels: 1, verdicts: 1 },
};

export function exhaustive({
  limits = usualLimits,
  only = kinds,
  rulings = shipped,
  rules = shippedRules,
  onKind = () => {},
}: Options = {}): { readonly summary: Summary; readonly stories: readonly Story[] } {
  const began = performance.now();
  const stories: Story[] = [];
  const states: Record<string, number> = {};
  let [transitions, violations, cut] = [0, 0, 0];
  for (const kind of only) {
    const policy = KINDS[kind];
    const around: Surroundings = { policy, decisions: new Decisions(policy, rulings), rules, tried: new Set() };
    const found = search(around, limits, false);
    states[kind] = found.states;
    transitions += found.transitions;
    violations += found.violations;
    cut += found.cut;
    for (const { what, path } of found.first) stories.push({ kind, what, steps: told(around, limits, path) });
    onKind(kind, found);
  }
  const all = Object.values(states).reduce((sum, count) => sum + count, 0);
  const ms = Math.round(performance.now() - began);
  const summary: Summary = {
    ...{
      summary: 'sim-exhaustive',
      ok: violations === 0,
      states: all,
      transitions,
      violations,
      cut,
      kinds: states,
      ms,
    },
  };
  return { summary, stories };
}

function told(around: Surroundings, limits: Limits, path: readonly number[]): readonly string[] {
  const lines: string[] = [];
  let world: World = beginning(limits.left);
  for (const choice of path) {
    const step = nextSteps(around, limits, world).steps[choice];
    if (step === undefined) break;
    const state = step.world.store.operation?.state ?? 'nothing yet';
    lines.push(`${step.says} (${state})`);
    world = step.world;
  }
  return lines;
}
