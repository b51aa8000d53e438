/**
 * A store seen through one process's eyes: its turns can be stopped, delayed or lost on the way there and back, while
 * the rows underneath stay the truth.
 */

import type { NewRecord, Store, Turn } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';

export interface Interruptions {
  /** Before the turn reaches the store. What it throws is what the process hears. */
  readonly before?: (turn: Turn) => unknown;
  /** After the store has carried it out, before the process hears of it. */
  readonly after?: (turn: Turn) => unknown;
}

export function interrupted(store: Store, { before, after }: Interruptions): Store {
  return overlay(store, {
    async turn(turn: Turn) {
      await before?.(turn);
      const receipt = await store.turn(turn);
      await after?.(turn);
      return receipt;
    },
  });
}

export function tells(turn: Turn, kind: NewRecord['kind']): boolean {
  return turn.records.some((record) => record.kind === kind);
}

/** Something waits at `pass` until `open` is called; `reached` resolves when the first one waits. */
export interface Gate {
  readonly reached: Promise<void>;
  pass(): Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let arrive = () => {};
  let open = () => {};
  const reached = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    reached,
    pass() {
      arrive();
      return opened;
    },
    open: () => open(),
  };
}
