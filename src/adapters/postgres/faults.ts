/**
 * What a driver's error means, told by SQLSTATE and severity and by nothing else of it: the errors of Drizzle and of
 * the drivers carry the statement with its parameters, and those must not reach a log. A statement that the server
 * refused did not happen; one that was not answered may have, and then only a write is in doubt.
 */

import { storeInDoubt, storeUnavailable } from '../../domain/errors.ts';

/** What a call would have done. A failed read is never in doubt. */
export type Effect = 'read' | 'write';

/** All that is kept of a driver's error. */
interface DatabaseFault {
  readonly sqlstate: string;
  readonly severity: string;
}

/** The error to throw instead of `error`. Its cause is at most a `DatabaseFault`. */
export function storeFault(error: unknown, effect: Effect): Error {
  const fault = databaseFault(error);
  if (fault === null || endsConnection(fault)) return unanswered(effect, fault ?? undefined);
  if (passes(fault)) {
    return storeUnavailable(
      `The database refused a statement for the moment (SQLSTATE ${fault.sqlstate}).`,
      'Nothing was written; call again.',
      fault,
    );
  }
  return new Error(
    `The database refused a statement of Sagacity (SQLSTATE ${fault.sqlstate}, ${fault.severity}). Nothing was ` +
      'written. Its parameters are not shown, because they may be confidential.',
  );
}

/** The error of a call that got no answer at all. */
export function unanswered(effect: Effect, cause?: unknown): Error {
  return effect === 'write'
    ? storeInDoubt('A write got no answer.', cause)
    : storeUnavailable('A read got no answer from the database.', 'Nothing was changed; call again.', cause);
}

/** Finds what the server said, at whatever depth Drizzle or a driver wrapped it. */
function databaseFault(error: unknown): DatabaseFault | null {
  for (let depth = 0, at = error; depth < 5 && at instanceof Object; depth += 1) {
    const code = 'code' in at ? at.code : undefined;
    // Node's own codes (ECONNRESET, EPIPE) are errors of the wire, not of a server; some have five letters too.
    const severity = 'severity' in at ? at.severity : undefined;
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && typeof severity === 'string') {
      return { sqlstate: code, severity };
    }
    at = 'cause' in at ? at.cause : undefined;
  }
  return null;
}

/** The server ended the session (FATAL, PANIC, class 08, a shutdown), so it may have been at any point of the work. */
function endsConnection({ sqlstate, severity }: DatabaseFault): boolean {
  if (sqlstate === '57P03') return false;
  return severity === 'FATAL' || severity === 'PANIC' || sqlstate.startsWith('08') || sqlstate.startsWith('57P');
}

/** Serialisation, deadlock, lock time-out, cancellation, lack of resources, a server that is starting. */
function passes({ sqlstate }: DatabaseFault): boolean {
  return ['40001', '40P01', '55P03', '57014', '57P03'].includes(sqlstate) || sqlstate.startsWith('53');
}
