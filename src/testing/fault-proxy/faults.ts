/**
 * The plain faults, as decisions. A fault is asked about whatever stands first in one direction of a connection and
 * answers what becomes of it; it moves nothing itself. Every connection gets a treatment of its own, so that what a
 * fault counts, it counts per connection.
 */

/** One of the two ways through the proxy. */
export type Direction = 'to-server' | 'to-client';

/** What stands first: a piece of the stream, or with `size` 0 its end. */
export interface Head {
  readonly size: number;
  /** Since it arrived. */
  readonly waitedMs: number;
  /** Its own lot, from 0 up to 1, drawn when it arrived. */
  readonly chance: number;
}

/** Keep it until the fault changes; swallow it, and everything behind it; or let its first bytes go. */
export type Step = 'keep' | 'swallow' | Go;

export interface Go {
  readonly bytes: number;
  readonly afterMs: number;
  /** The connection is cut behind these bytes. */
  readonly cut?: boolean;
}

export type Treatment = (head: Head, direction: Direction) => Step;

export type Fault = () => Treatment;

export const pass: Fault = () => wholly;

export function delay(ms: number, jitterMs: number): Fault {
  return () => (head) => ({
    bytes: head.size,
    afterMs: Math.max(0, Math.ceil(ms + head.chance * jitterMs - head.waitedMs)),
  });
}

/** Goes in slices, about a hundred a second. */
export function throttle(bytesPerSecond: number): Fault {
  const slice = Math.max(1, Math.floor(bytesPerSecond / 100));
  return () => (head) => {
    const bytes = Math.min(head.size, slice);
    return { bytes, afterMs: Math.ceil((bytes * 1000) / bytesPerSecond) };
  };
}

export function cutAfter(bytes: number, only?: Direction): Fault {
  return () => {
    let left = bytes;
    return (head, direction) => {
      if (!concerns(only, direction)) return wholly(head);
      const going = Math.min(head.size, left);
      left -= going;
      return { bytes: going, afterMs: 0, cut: left === 0 };
    };
  };
}

export const split: Fault = () => (head) => ({ bytes: Math.min(head.size, 1), afterMs: 0 });

export function hold(only: Direction): Fault {
  return () => (head, direction) => (concerns(only, direction) ? 'keep' : wholly(head));
}

export function blackHole(only?: Direction): Fault {
  return () => (head, direction) => (concerns(only, direction) ? 'swallow' : wholly(head));
}

function wholly(head: Head): Go {
  return { bytes: head.size, afterMs: 0 };
}

function concerns(only: Direction | undefined, direction: Direction): boolean {
  return only === undefined || only === direction;
}
