/** Chance from a seed, so that what a run chose can be chosen again. When things happen is not chosen: processes are real. */

export interface Chance {
  /** A whole number from 0 up to, but not including, `count`. */
  below(count: number): number;
  shuffled<Item>(items: readonly Item[]): Item[];
}

export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  const below = (count: number) => {
    // Weyl's sequence, well stirred.
    state = (state + 0x9e_37_79_b9) >>> 0;
    let stirred = Math.imul(state ^ (state >>> 16), 0x85_eb_ca_6b);
    stirred = Math.imul(stirred ^ (stirred >>> 13), 0xc2_b2_ae_35);
    return Math.floor((((stirred ^ (stirred >>> 16)) >>> 0) / 2 ** 32) * count);
  };
  return {
    below,
    shuffled(items) {
      const drawn: (typeof items)[number][] = [];
      for (const item of items) drawn.splice(below(drawn.length + 1), 0, item);
      return drawn;
    },
  };
}
