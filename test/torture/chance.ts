/**
 * Chance from a seed: the same seed draws the same numbers, so that what a run chose can be chosen again. When things
 * happen is not chosen here: the processes of a run are real, and their timing is their own.
 */

export interface Chance {
  /** A whole number from 0 up to, but not including, `count`. */
  below(count: number): number;
  /** True in this share of all cases. */
  is(share: number): boolean;
  oneOf<Item>(items: readonly [Item, ...Item[]]): Item;
  shuffled<Item>(items: readonly Item[]): Item[];
}

export function chanceOf(seed: number): Chance {
  const number = mulberry32(seed);
  const below = (count: number) => Math.floor(number() * count);
  return {
    below,
    is: (share) => number() < share,
    oneOf: (items) => items[below(items.length)] ?? items[0],
    shuffled(items) {
      const drawn: (typeof items)[number][] = [];
      for (const item of items) drawn.splice(below(drawn.length + 1), 0, item);
      return drawn;
    },
  };
}

/** The generator of that name: small, and good enough to choose by. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
