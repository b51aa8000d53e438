/** Where everything that happens in a run is noted, and from where people are told of it. */

import type { Tally } from './tally.ts';

export interface Notes {
  readonly tally: Tally;
  /** Tells of something that should not be, with the seed it came under. What it counts as is the caller's to say. */
  readonly complain: (what: string) => void;
  /** As {@link complain}, and counts it as wrong. */
  readonly wrong: (what: string) => void;
  /** Says what is being done now. */
  readonly doing: (what: string) => void;
}
