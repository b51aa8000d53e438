/** A deadline on work that has none of its own. What is late goes on; its end no longer interests anybody. */

import type { CancelTimer, Clock } from '../../ports/clock.ts';

/** Rejects with what `late` gives when `work` takes longer than `deadlineMs`. */
export async function inTime<Result>(
  clock: Clock,
  deadlineMs: number,
  work: Promise<Result>,
  late: () => unknown,
): Promise<Result> {
  let cancelTimer: CancelTimer = () => {};
  const over = new Promise<never>((_, reject) => {
    cancelTimer = clock.after(deadlineMs, () => reject(late()));
  });
  try {
    return await Promise.race([work, over]);
  } finally {
    cancelTimer();
  }
}
