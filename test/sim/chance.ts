/** Chance from a seed, with the shapes that a schedule draws: shares, spans, and rates from rare to frequent. */

import { type Chance as Drawing, chanceOf } from '../torture/chance.ts';

export interface Chance extends Drawing {
  /** In [0, 1). */
  number(): number;
  /** In [from, to). */
  between(from: number, to: number): number;
  /** In [from, to), as often in each order of magnitude. */
  logBetween(from: number, to: number): number;
}

/** The finest step of a drawn number. */
const STEPS = 2 ** 32;

export function seeded(seed: number): Chance {
  const drawing = chanceOf(seed);
  const number = () => drawing.below(STEPS) / STEPS;
  const between = (from: number, to: number) => from + number() * (to - from);
  return {
    ...drawing,
    number,
    between,
    logBetween: (from, to) => from * (to / from) ** number(),
  };
}
