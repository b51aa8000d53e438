/**
 * Turns that are ready together share a statement, so that many sagas cost one commit. A statement holds at most one
 * turn of an operation or saga and one birth of an identity; what it cannot hold waits for the next. Nobody pays for another's
 * trouble: a statement that is refused is split until the turn that broke it stands alone, one that meets a lock of
 * somebody else goes on alone in a slow lane, and only what passes by itself (serialisation, deadlock) repeats it whole.
 * A statement in doubt is given to its callers as doubt: each repeats its identical turn, and they meet again in one.
 */

import { isSagacityError, storeUnavailable } from '../../domain/errors.ts';
import type { CancelTimer, Clock } from '../../ports/clock.ts';
import { sqlstateOf } from './faults.ts';

/** Applies turns in one statement and gives the receipts of those that were written, by the turn's id. */
export type ApplyTurns<Turn, Receipt> = (
  turns: readonly Turn[],
  lockTimeoutMs: number,
) => Promise<ReadonlyMap<string, Receipt>>;

export interface GroupCommitOptions<Turn, Receipt> {
  readonly apply: ApplyTurns<Turn, Receipt>;
  /** What no other turn of the same statement, or of one on its way, may touch. */
  readonly keysOf: (turn: Turn) => readonly string[];
  readonly clock: Clock;
  /** A number from 0 to 1, to spread repetitions. */
  readonly chance: () => number;
  /** How long a turn may wait for others before it is sent, in all. What is on its way is no longer timed here. */
  readonly patienceMs: number;
  /** Slow statements at once. */
  readonly slowMax: number;
}

/** Turns in one statement, and characters of their JSON: a single turn may be longer. */
const TURNS_MAX = 128;
const LENGTH_MAX = 1_000_000;
/** Statements of many turns at once. */
const FLIGHTS_MAX = 2;
/** How long many turns wait for a lock, or one that others queue behind; and how long one does that is alone. */
const LOCK_TIMEOUT_MS = 50;
const LOCK_TIMEOUT_ALONE_MS = 500;
/** Repetitions of a statement that the server refused because of another one. */
const AGAIN_MAX = 5;
const AGAIN_PAUSE_MS = 20;

interface Waiting<Turn, Receipt> {
  readonly turn: Turn;
  readonly keys: readonly string[];
  /** Of its JSON. */
  readonly length: number;
  readonly deadline: number;
  readonly written: (receipt: Receipt | null) => void;
  readonly failed: (error: unknown) => void;
  cancelTimer: CancelTimer;
}

/** Makes the verb `turn` or `sagaTurn` of the store: same promises, shared statements. */
export function groupCommit<Turn extends { readonly turn: string }, Receipt>(
  options: GroupCommitOptions<Turn, Receipt>,
): (turn: Turn) => Promise<Receipt | null> {
  type Waits = Waiting<Turn, Receipt>;
  const { apply, keysOf, clock, chance, patienceMs, slowMax } = options;
  const line = new Set<Waits>();
  const slowLine = new Set<Waits>();
  /** Of all that is on its way, or in the slow line. */
  const touched = new Set<string>();
  let flights = 0;
  let slowFlights = 0;
  let departing = false;

  /** What was asked for in the same moment departs together. */
  function departSoon(): void {
    if (departing) return;
    departing = true;
    queueMicrotask(() => {
      departing = false;
      depart();
    });
  }

  function depart(): void {
    while (flights < FLIGHTS_MAX) {
      const boarded = board();
      if (boarded.length === 0) break;
      flights += 1;
      void carry(boarded).finally(() => {
        flights -= 1;
        departSoon();
      });
    }
    for (const alone of slowLine) {
      if (slowFlights === slowMax) break;
      leave(slowLine, alone);
      slowFlights += 1;
      void carryAlone(alone).finally(() => {
        slowFlights -= 1;
        departSoon();
      });
    }
  }

  /** Takes what fits into one statement, in order; nothing overtakes what it shares a key with. */
  function board(): readonly Waits[] {
    const boarded: Waits[] = [];
    const behind = new Set<string>();
    let length = 0;
    for (const next of line) {
      if (boarded.length === TURNS_MAX) break;
      const waits =
        next.keys.some((key) => touched.has(key) || behind.has(key)) ||
        (boarded.length > 0 && length + next.length > LENGTH_MAX);
      if (waits) {
        for (const key of next.keys) behind.add(key);
        continue;
      }
      leave(line, next);
      for (const key of next.keys) touched.add(key);
      length += next.length;
      boarded.push(next);
    }
    return boarded;
  }

  async function carry(boarded: readonly Waits[]): Promise<void> {
    // Asked once: between two looks at the clock a turn could be neither.
    const now = clock.monotonic();
    for (const each of boarded) if (each.deadline <= now) land(each, () => each.failed(late()));
    const turns = boarded.filter(({ deadline }) => deadline > now);
    const [first] = turns;
    if (first === undefined) return;
    try {
      const receipts = await repeating(turns, LOCK_TIMEOUT_MS);
      for (const each of turns) land(each, () => each.written(receipts.get(each.turn.turn) ?? null));
    } catch (error) {
      const concernsOne = isBlocked(error) || isRefused(error);
      if (concernsOne && turns.length > 1) {
        const half = Math.ceil(turns.length / 2);
        await carry(turns.slice(0, half));
        await carry(turns.slice(half));
      } else if (isBlocked(error)) {
        enter(slowLine, first);
      } else {
        for (const each of turns) land(each, () => each.failed(error));
      }
    }
  }

  async function carryAlone(alone: Waits): Promise<void> {
    try {
      const receipts = await repeating([alone], slowLine.size > 0 ? LOCK_TIMEOUT_MS : LOCK_TIMEOUT_ALONE_MS);
      land(alone, () => alone.written(receipts.get(alone.turn.turn) ?? null));
    } catch (error) {
      if (isBlocked(error) && !isLate(alone)) enter(slowLine, alone);
      else land(alone, () => alone.failed(error));
    }
  }

  async function repeating(boarded: readonly Waits[], lockTimeoutMs: number) {
    const turns = boarded.map(({ turn }) => turn);
    for (let tries = 1; ; tries += 1) {
      try {
        return await apply(turns, lockTimeoutMs);
      } catch (error) {
        if (!isClash(error) || tries > AGAIN_MAX) throw error;
        const pauseMs = AGAIN_PAUSE_MS * tries * chance();
        await new Promise<void>((resume) => clock.after(pauseMs, resume));
      }
    }
  }

  /** Waits there until it is taken out, or its patience is over. */
  function enter(where: Set<Waits>, waiting: Waits): void {
    where.add(waiting);
    waiting.cancelTimer = clock.after(waiting.deadline - clock.monotonic(), () => {
      leave(where, waiting);
      if (where === slowLine) land(waiting, () => waiting.failed(late()));
      else waiting.failed(late());
      departSoon();
    });
    departSoon();
  }

  function leave(where: Set<Waits>, waiting: Waits): void {
    where.delete(waiting);
    waiting.cancelTimer();
  }

  /** Lets go of what the turn held up. */
  function land(each: Waits, settle: () => void): void {
    for (const key of each.keys) touched.delete(key);
    settle();
  }

  function isLate({ deadline }: Waits): boolean {
    return clock.monotonic() >= deadline;
  }

  return (turn) =>
    new Promise((written, failed) => {
      const deadline = clock.monotonic() + patienceMs;
      const { length } = JSON.stringify(turn);
      enter(line, { turn, keys: keysOf(turn), length, deadline, written, failed, cancelTimer: () => {} });
    });
}

function late(): Error {
  return storeUnavailable('A turn waited too long for others.', 'Nothing was written; call again.');
}

/** Another statement was in the way, and passes by itself. */
function isClash(error: unknown): boolean {
  return ['40001', '40P01'].includes(sqlstateOf(error) ?? '');
}

/** Somebody holds a lock on something in the statement, or the waits for locks added up to its time limit. */
function isBlocked(error: unknown): boolean {
  return ['55P03', '57014'].includes(sqlstateOf(error) ?? '');
}

/** The server said no to something in the statement, for good. */
function isRefused(error: unknown): boolean {
  return !isSagacityError(error);
}
