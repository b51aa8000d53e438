/**
 * Letters that a shop submits in transactions of its own, with a note that nobody but its reader may see: it is a
 * parameter, and no error may hold it. Where they are used nothing works on them; what counts is which are stored.
 */

import { inspect } from 'node:util';
import { createOrchestrator, isSagacityError, operation, type Orchestrator, succeeded, typed } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';

interface Letter {
  readonly orderId: string;
  readonly note: string;
}

/** Never worked on: the processes that submit it are not started. */
export const letter = operation('letter.send', {
  input: typed<Letter>(),
  key: ({ input }) => input.orderId,
  execute: () => succeeded('sent'),
  keyRetention: 'none',
  lookup: 'none',
});

export function letterAbout(orderId: string): Letter {
  return { orderId, note: NOTE };
}

/** A process that only submits, and waits for an answer no longer than `deadlineMs`. */
export function submitterAt(url: string, deadlineMs: number): Orchestrator<true> {
  const store = postgresStore({ url, deadlineMs, migrate: true });
  return createOrchestrator({ store, definitions: [letter], tenant: 'shop-1' });
}

/** What became of a submission: how it met its operation, or how it was refused. */
export interface Said {
  readonly said: string;
  /** The SQLSTATE that a refusal names as its cause. */
  readonly sqlstate: string | null;
  /** True: a refusal holds a parameter, at whatever depth. */
  readonly leaked: boolean;
}

export async function saidOf(submitting: Promise<{ readonly submission: string }>): Promise<Said> {
  try {
    return { said: (await submitting).submission, sqlstate: null, leaked: false };
  } catch (error) {
    const told = `${inspect(error, { depth: Infinity, showHidden: true })} ${JSON.stringify(error)}`;
    return {
      said: isSagacityError(error) ? error.code : String(error),
      sqlstate: sqlstateOf(error),
      leaked: told.includes(NOTE),
    };
  }
}

const NOTE = 'with-love-from-aisle-seven';

/** As the helpers of hosts find it that run a transaction again. */
function sqlstateOf(error: unknown): string | null {
  const cause = error instanceof Error ? error.cause : null;
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : null;
}
