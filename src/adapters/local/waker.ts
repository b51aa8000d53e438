/**
 * Wakes inside one process. It remembers nothing across a restart and need not: the store knows when everything is
 * due, and the sweep finds it. One timer for each operation that waits, the latest request wins.
 */

import type { CancelTimer, Clock } from '../../ports/clock.ts';
import { keyOf } from '../../ports/store.ts';
import type { Wake, Waker } from '../../ports/waker.ts';

export function localWaker(clock: Clock): Waker {
  const armed = new Map<string, CancelTimer>();
  let deliver: ((wake: Wake) => void) | null = null;

  return {
    start(onWake) {
      // Whoever is woken has said why; here it would only end the process.
      deliver = (wake) => void onWake(wake).catch(() => {});
      return Promise.resolve();
    },

    wake(wake, delayMs) {
      if (deliver === null) return;
      const key = keyOf({ tenant: wake.tenant, id: wake.operationId });
      armed.get(key)?.();
      armed.delete(key);
      if (delayMs <= 0) {
        queueMicrotask(() => deliver?.(wake));
        return;
      }
      const cancel = clock.after(delayMs, () => {
        armed.delete(key);
        deliver?.(wake);
      });
      armed.set(key, cancel);
    },

    stop() {
      deliver = null;
      for (const cancel of armed.values()) cancel();
      armed.clear();
      return Promise.resolve();
    },
  };
}
