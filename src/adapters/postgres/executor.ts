/**
 * What a statement needs from a driver: run one Drizzle `sql` and give its rows. Every statement of this folder
 * answers with at most one text column named `answer`, holding JSON, because drivers disagree about every richer type
 * (PGlite gives a bigint as number or BigInt by its value, `postgres` as text, and dates both ways).
 */

import type { SQL } from 'drizzle-orm';

/** Runs one statement. Rejects with an error of `faults.ts`, never with the driver's own. */
export type Executor = (query: SQL) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** Runs one statement and reads its answers. `Answer` is what the statement's own SQL builds. */
export async function answers<Answer>(execute: Executor, query: SQL): Promise<Answer[]> {
  const rows = await execute(query);
  return rows.map(({ answer }) => {
    if (typeof answer !== 'string') throw new TypeError('A statement of Sagacity must answer with text.');
    // The statement that the caller wrote builds exactly this JSON; the conformance suite compares it field by field.
    return JSON.parse(answer) as Answer;
  });
}

/** Like {@link answers}, for statements that answer with one row or none. */
export async function answerOf<Answer>(execute: Executor, query: SQL): Promise<Answer | null> {
  const [answer = null] = await answers<Answer>(execute, query);
  return answer;
}
