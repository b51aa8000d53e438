/**
 * The life of a process that exists only in a test. When it is over, nothing that it still does gets through to the
 * store, to a provider or to a timer, and nothing it waits for is answered: as if it had been killed. What was written
 * stays, for whoever comes next.
 */

import type { Caller } from '../ports/caller.ts';
import type { Clock } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';

export interface Life {
  readonly isOver: boolean;
  /** Resolves when it is over. */
  readonly over: Promise<void>;
  end(): void;
}

export function newLife(): Life {
  let isOver = false;
  let end = (): void => {};
  const over = new Promise<void>((resolve) => {
    end = resolve;
  });
  return {
    get isOver() {
      return isOver;
    },
    over,
    end() {
      isOver = true;
      end();
    },
  };
}

/** Never answers. */
export function silence(): Promise<never> {
  return new Promise(() => {});
}

/** What `work` comes to, unless the process dies before or meanwhile. */
export async function inLife<Answer>(life: Life, work: () => Answer): Promise<Awaited<Answer>> {
  if (life.isOver) return silence();
  try {
    const answer = await work();
    return life.isOver ? silence() : answer;
  } catch (error) {
    if (life.isOver) return silence();
    throw error;
  }
}

/** The same store, as long as the process lives. */
export function storeInLife(life: Life, store: Store): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => inLife(life, () => Reflect.apply(member, target, given) as unknown);
    },
  });
}

export function callerInLife(life: Life, caller: Caller): Caller {
  return (call, go) => inLife(life, () => caller(call, go));
}

/** The same clock, whose timers do nothing once the process that asked for them has died. */
export function clockInLife(life: Life, clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (delayMs, fn) =>
      clock.after(delayMs, () => {
        if (!life.isOver) fn();
      }),
  };
}
