/**
 * A queue of what the provider was told to do next. Items are handed out in the order they were written, each to
 * the first comer of its kind; an item without a kind goes to anybody. What was taken never comes back, except a
 * lasting look-up fault, which stays at its place until its time is over.
 */

import type { Mode } from './modes.ts';

export interface Script<Name extends string> {
  append(modes: readonly Mode<Name>[], kind: string | undefined): void;
  take(kind: string): Mode<Name> | undefined;
  clear(): void;
}

/** A queue in which every item strikes once. */
export function strikingScript<Name extends string>(): Script<Name> {
  return script(() => undefined);
}

/** A queue in which an item that `lasts` says to keep holds from its first strike for its milliseconds. */
export function lastingScript<Name extends string>(
  now: () => number,
  lasts: (mode: Mode<Name>) => boolean,
): Script<Name> {
  return script((mode) => (lasts(mode) && mode.ms !== undefined ? now() + mode.ms : undefined), now);
}

interface Item<Name extends string> {
  readonly mode: Mode<Name>;
  readonly kind: string | undefined;
  until?: number;
}

function script<Name extends string>(
  endOf: (mode: Mode<Name>) => number | undefined,
  now: () => number = () => 0,
): Script<Name> {
  let items: Item<Name>[] = [];
  return {
    append(modes, kind) {
      items.push(...modes.map((mode) => ({ mode, kind })));
    },
    take(kind) {
      items = items.filter((item) => item.until === undefined || now() < item.until);
      const index = items.findIndex((item) => item.kind === undefined || item.kind === kind);
      const item = items[index];
      if (item === undefined) return undefined;
      const until = item.until ?? endOf(item.mode);
      if (until === undefined) items.splice(index, 1);
      else item.until = until;
      return item.mode;
    },
    clear() {
      items = [];
    },
  };
}
