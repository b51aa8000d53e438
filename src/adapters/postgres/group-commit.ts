/**
 * Turns that are ready together share a statement, so that many sagas cost one commit. A statement holds at most one
 * turn of an operation and one birth of an identity; what it cannot hold waits for the next. Nobody pays for another's
 * trouble: a statement that is refused is split until the turn that broke it stands alone, one that meets a lock of
 * somebody else goes on alone in a slow lane, and only what passes by itself (serialisation, deadlock) repeats it whole.
 * A statement in doubt is given to its callers as doubt: each repeats its identical turn, and they meet again in one.
 */

import { isSagacityError, storeUnavailable } from '../../domain/errors.ts';
import type { CancelTimer, Clock } from '../../ports/clock.ts';
import { keyOf, type Receipt, type Turn } from '../../ports/store.ts';
import { sqlstateOf } from './faults.ts';

/** Applies turns in one statement and gives the receipts of those that were written, by the turn's id. */
export type ApplyTurns = (turns: readonly Turn[], lockTimeoutMs: number) => Promise<ReadonlyMap<string, Receipt>>;

export interface GroupCommitOptions {
  readonly apply: ApplyTurns;
  readonly clock: Clock;
  /** A number from 0 to 1, to spread repetitions. */
  readonly chance: () => number;
  /** How long a turn may take in all. */
  readonly deadlineMs: number;
  /** Slow statements at once. */
  readonly slowMax: number;
}

/** Turns in one statement. */
const TURNS_MAX = 128;
/** Statements of many turns at once. */
const FLIGHTS_MAX = 2;
/** How long many turns wait for a lock, and how long a single one does at a time. */
const LOCK_TIMEOUT_MS = 50;
const LOCK_TIMEOUT_ALONE_MS = 500;
/** Repetitions of a statement that the server refused because of another one. */
const AGAIN_MAX = 5;
const AGAIN_PAUSE_MS = 20;

interface Waiting {
  readonly turn: Turn;
  /** What no other turn of the same statement, or of one on its way, may touch. */
  readonly keys: readonly string[];
  readonly deadline: number;
  readonly written: (receipt: Receipt | null) => void;
  readonly failed: (error: unknown) => void;
  cancelTimer: CancelTimer;
}

/** Makes the verb `turn` of the store: same promises, shared statements. */
export function groupCommit(options: GroupCommitOptions): (turn: Turn) => Promise<Receipt | null> {
  const { apply, clock, chance, deadlineMs, slowMax } = options;
  const line: Waiting[] = [];
  const slowLine: Waiting[] = [];
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
    while (slowFlights < slowMax) {
      const alone = slowLine.shift();
      if (alone === undefined) break;
      slowFlights += 1;
      void carryAlone(alone).finally(() => {
        slowFlights -= 1;
        departSoon();
      });
    }
  }

  function board(): Waiting[] {
    const boarded: Waiting[] = [];
    for (let n = 0; n < line.length && boarded.length < TURNS_MAX; ) {
      const next = line[n];
      if (next === undefined) break;
      if (next.keys.some((key) => touched.has(key))) {
        n += 1;
        continue;
      }
      line.splice(n, 1);
      next.cancelTimer();
      for (const key of next.keys) touched.add(key);
      boarded.push(next);
    }
    return boarded;
  }

  async function carry(boarded: readonly Waiting[]): Promise<void> {
    try {
      const receipts = await repeating(boarded, LOCK_TIMEOUT_MS);
      for (const each of boarded) land(each, () => each.written(receipts.get(each.turn.turn) ?? null));
    } catch (error) {
      const [first] = boarded;
      const concernsOne = isBlocked(error) || isRefused(error);
      if (!concernsOne || first === undefined) {
        for (const each of boarded) land(each, () => each.failed(error));
      } else if (boarded.length > 1) {
        const half = Math.ceil(boarded.length / 2);
        await carry(boarded.slice(0, half));
        await carry(boarded.slice(half));
      } else if (isBlocked(error)) {
        slowLine.push(first);
        departSoon();
      } else {
        land(first, () => first.failed(error));
      }
    }
  }

  async function carryAlone(alone: Waiting): Promise<void> {
    try {
      const receipts = await repeating([alone], LOCK_TIMEOUT_ALONE_MS);
      land(alone, () => alone.written(receipts.get(alone.turn.turn) ?? null));
    } catch (error) {
      if (isBlocked(error) && clock.monotonic() < alone.deadline) slowLine.push(alone);
      else land(alone, () => alone.failed(error));
    }
  }

  async function repeating(boarded: readonly Waiting[], lockTimeoutMs: number) {
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

  function land(each: Waiting, settle: () => void): void {
    for (const key of each.keys) touched.delete(key);
    settle();
  }

  return (turn) =>
    new Promise((written, failed) => {
      const deadline = clock.monotonic() + deadlineMs;
      const waiting: Waiting = { turn, keys: keysOf(turn), deadline, written, failed, cancelTimer: () => {} };
      waiting.cancelTimer = clock.after(deadlineMs, () => {
        line.splice(line.indexOf(waiting), 1);
        failed(storeUnavailable('A turn waited too long for an earlier one.', 'Nothing was written; call again.'));
      });
      line.push(waiting);
      departSoon();
    });
}

function keysOf(turn: Turn): readonly string[] {
  const operation = keyOf(turn);
  if (turn.birth === null) return [operation];
  const { tenant, action, key } = turn.birth;
  return [operation, JSON.stringify([tenant, action, key])];
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
