/**
 * What a process finds out about its surroundings, for people and programs. A fault keeps it from working; a warning
 * lets it work and may cost something that would otherwise be kept.
 */

import { isSagacityError } from './errors.ts';

/**
 * `database`: it answers, is new enough, takes writes, and has the tables of this version. `role`: the user may do what
 * is needed. `pooler`: a transaction pooler is in between only where that was said. `clock`: that of this process agrees
 * with the database's. `standby`: what the database acknowledges is kept, also by who takes its place. `pool`:
 * connections are enough, and there for the taking. `nats`: wakes get through.
 */
export type CheckName = 'database' | 'role' | 'pooler' | 'clock' | 'standby' | 'pool' | 'nats';

/** In the order in which they are told. */
const inOrder: readonly CheckName[] = ['database', 'role', 'pooler', 'clock', 'standby', 'pool', 'nats'];

export interface CheckupFinding {
  readonly check: CheckName;
  readonly level: 'ok' | 'warning' | 'fault';
  /** What was found, in a sentence. */
  readonly says: string;
  /** What to do about it; null: nothing, or what is to be done is not known. */
  readonly remedy: string | null;
}

export interface Checkup {
  /** True when no fault was found; there may be warnings. */
  readonly ok: boolean;
  readonly findings: readonly CheckupFinding[];
}

export function checkupOf(findings: readonly CheckupFinding[]): Checkup {
  const ok = findings.every(({ level }) => level !== 'fault');
  return { ok, findings: findings.toSorted((a, b) => inOrder.indexOf(a.check) - inOrder.indexOf(b.check)) };
}

export function sound(check: CheckName, says: string): CheckupFinding {
  return { check, level: 'ok', says, remedy: null };
}

export function warning(check: CheckName, says: string, remedy: string): CheckupFinding {
  return { check, level: 'warning', says, remedy };
}

/** What was thrown instead of an answer. `remedy` takes the place of the error's own, which is for who called. */
export function fault(check: CheckName, error: unknown, remedy?: string): CheckupFinding {
  const message = error instanceof Error ? error.message : String(error);
  const own = isSagacityError(error) ? error.remedy : null;
  const says = own === null ? message : message.slice(0, -own.length).trimEnd();
  return { check, level: 'fault', says, remedy: remedy ?? own };
}
