/** How late timers fired, from when they were due and when what followed was recorded. */

/**
 * `nats`: JetStream keeps the timers. `sweep`: nobody does, and the sweep finds what is due. `nats-emptied`: as `nats`,
 * and half way all that it kept is lost.
 */
export const modes = ['nats', 'sweep', 'nats-emptied'] as const;

export type Mode = (typeof modes)[number];

/** Both by the database's clock, in milliseconds since the epoch; `firedAt` is null for what has not. */
export interface Timer {
  readonly dueAt: number;
  readonly firedAt: number | null;
}

export interface Lateness {
  readonly timers: number;
  readonly fired: number;
  /** Exactly: one that fired a microsecond before it was due is early. */
  readonly early: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface Row extends Lateness {
  readonly mode: Mode;
}

/** The last line of `--json`: of each figure the worst. */
export interface TimersSummary extends Lateness {
  readonly summary: 'measure-timers';
  readonly ok: boolean;
}

export function latenessOf(timers: readonly Timer[]): Lateness {
  const late = timers
    .flatMap(({ dueAt, firedAt }) => (firedAt === null ? [] : [firedAt - dueAt]))
    .toSorted((one, other) => one - other);
  return {
    timers: timers.length,
    fired: late.length,
    early: late.filter((ms) => ms < 0).length,
    ...{ p50Ms: share(late, 0.5), p99Ms: share(late, 0.99), maxMs: share(late, 1) },
  };
}

export function worstOf(rows: readonly Row[]): TimersSummary {
  const most = (of: keyof Lateness) => Math.max(...rows.map((row) => row[of]));
  const least = (of: keyof Lateness) => Math.min(...rows.map((row) => row[of]));
  return {
    summary: 'measure-timers',
    ok: rows.length > 0 && rows.every(({ timers, fired, early }) => fired === timers && early === 0),
    ...{ timers: most('timers'), fired: least('fired'), early: most('early') },
    ...{ p50Ms: most('p50Ms'), p99Ms: most('p99Ms'), maxMs: most('maxMs') },
  };
}

/** What this share of them does not exceed, to the millisecond. */
function share(sorted: readonly number[], of: number): number {
  return Math.round(sorted[Math.max(0, Math.ceil(sorted.length * of) - 1)] ?? 0);
}
