/** What can happen next, as it is collected: each step with the world after it, and what was left out. */

import { rested } from './lives.ts';
import type { World } from './world.ts';

export interface Step {
  readonly says: string;
  readonly world: World;
  /** Something went wrong, or a person acted: an operation must come to its end without it. */
  readonly isExtra: boolean;
  /** What is wrong with the step itself. */
  readonly breaks: string | null;
}

export class Found {
  readonly steps: Step[] = [];
  /** Steps that were left out because they go beyond the bounds. */
  cut = 0;

  add(says: string, world: World | null, as: { readonly isExtra?: boolean; readonly breaks?: string | null } = {}) {
    if (world === null) return;
    this.steps.push({ says, world: rested(world), isExtra: as.isExtra ?? false, breaks: as.breaks ?? null });
  }
}

/** Marks a step without which an operation must come to its end too. */
export const extra = { isExtra: true };

export const SLOTS = [0, 1] as const;

/** What the two workers are called in a story. */
export const NAMES = ['Worker A', 'Worker B'] as const;
