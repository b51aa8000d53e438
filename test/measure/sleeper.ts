/** A saga that sleeps until a time, and does nothing else: what follows the sleep is its end. */

import { saga, typed } from 'sagacity';

export interface Sleep {
  readonly n: number;
  /** In milliseconds since the epoch. */
  readonly until: number;
}

export const sleeper = saga('sleeper', { input: typed<Sleep>(), key: ({ input }) => String(input.n) }).sleep('nap', {
  until: ({ input }) => new Date(input.until),
});
