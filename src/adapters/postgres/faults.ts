/**
 * What a driver's error means, told by SQLSTATE and severity and by nothing else of it: the errors of Drizzle and of
 * the drivers carry the statement with its parameters, and those must not reach a log. A statement that the server
 * refused did not happen; one that was not answered may have, and then only a write is in doubt.
 */

import { storeInDoubt, storeUnavailable } from '../../domain/errors.ts';

/** What a call would have done. A failed read is never in doubt. */
export type Effect = 'read' | 'write';

/** All that is kept of a driver's error. */
export interface DatabaseFault {
  /** The SQLSTATE, named as the drivers name it, for whoever looks for 40001 along the causes. */
  readonly code: string;
  readonly severity: string;
}

/**
 * The error to throw instead of `error`. Its cause is at most a `DatabaseFault`. `unsentTo` names the server that has
 * certainly not seen the statement, if it has not.
 */
export function storeFault(error: unknown, effect: Effect, unsentTo: string | null = null): Error {
  const fault = databaseFault(error);
  if (unsentTo !== null) return notReached(unsentTo, error, fault);
  if (fault === null || endsConnection(fault)) return unanswered(effect, fault ?? undefined);
  if (passes(fault)) {
    return storeUnavailable(
      `The database refused a statement for the moment (SQLSTATE ${fault.code}${meaningOf(fault)}).`,
      'Nothing was written; call again.',
      fault,
    );
  }
  return new Error(
    `The database refused a statement of Sagacity (SQLSTATE ${fault.code}, ${fault.severity}). Nothing was ` +
      'written. Its parameters are not shown, because they may be confidential.',
    { cause: fault },
  );
}

/** The error of a call that got no answer at all. */
export function unanswered(effect: Effect, cause?: unknown): Error {
  return effect === 'write'
    ? storeInDoubt('A write got no answer.', cause)
    : storeUnavailable('A read got no answer from the database.', 'Nothing was changed; call again.', cause);
}

/** The SQLSTATE that an error of this file carries, if the server named one. */
export function sqlstateOf(error: unknown): string | null {
  const cause = error instanceof Error ? error.cause : null;
  return cause instanceof Object && 'code' in cause && typeof cause.code === 'string' ? cause.code : null;
}

/** The statement never left: there was no connection for it. */
function notReached(server: string, error: unknown, fault: DatabaseFault | null): Error {
  const why = fault === null ? codeOf(error) : `SQLSTATE ${fault.code}`;
  return storeUnavailable(
    `The database at ${server} could not be reached${why === null ? '' : ` (${why})`}.`,
    'Nothing was written; call again.',
    fault ?? undefined,
  );
}

/** Node's or the driver's name for what happened to the wire; its message may name more than a log should hold. */
function codeOf(error: unknown): string | null {
  return error instanceof Object && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** Of what a caller can do something about. */
function meaningOf({ code }: DatabaseFault): string {
  return code === '55P03' ? ': another transaction holds what it needs' : '';
}

/** Finds what the server said, at whatever depth Drizzle or a driver wrapped it. */
export function databaseFault(error: unknown): DatabaseFault | null {
  for (let depth = 0, at = error; depth < 5 && at instanceof Object; depth += 1) {
    const code = 'code' in at ? at.code : undefined;
    // Node's own codes (ECONNRESET, EPIPE) are errors of the wire, not of a server; some have five letters too.
    const severity = 'severity' in at ? at.severity : undefined;
    if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && typeof severity === 'string') {
      return { code, severity };
    }
    at = 'cause' in at ? at.cause : undefined;
  }
  return null;
}

/**
 * Whether the server said no to a statement, in a session that is good for others. One that is read-only stays so, also
 * when the server, or the one that took its place, is not any more.
 */
export function isRefusal(error: unknown): boolean {
  const fault = databaseFault(error);
  return fault !== null && !endsConnection(fault) && fault.code !== '25006';
}

/** The server ended the session (FATAL, PANIC, class 08, a shutdown), so it may have been at any point of the work. */
function endsConnection({ code, severity }: DatabaseFault): boolean {
  if (code === '57P03') return false;
  return severity === 'FATAL' || severity === 'PANIC' || code.startsWith('08') || code.startsWith('57P');
}

/** Serialisation, deadlock, lock time-out, cancellation, a server that is starting or read-only, lack of resources. */
function passes({ code }: DatabaseFault): boolean {
  return ['40001', '40P01', '55P03', '57014', '57P03', '25006'].includes(code) || code.startsWith('53');
}
