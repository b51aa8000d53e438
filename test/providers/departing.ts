/** One charge on its way to a provider, with everything a test does not care about filled in. */

import type { Dispatcher } from 'undici';
import { systemClock } from '../../src/adapters/local/clock.ts';
import type { CancelTimer, Clock } from '../../src/ports/clock.ts';
import type { Arrival, Departure, Outgoing } from '../../src/providers/arrival.ts';
import { dispatchOnce } from '../../src/providers/dispatch.ts';

export type Charge = Partial<Outgoing & Departure> & { readonly url: string; readonly clock?: Clock };

/** A POST of 1 charge with the key `order-17`, which may leave, and has two seconds. */
export function charge(
  dispatcher: Pick<Dispatcher, 'dispatch'>,
  { clock = systemClock(), ...given }: Charge,
): Promise<Arrival> {
  const outgoing = {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': 'order-17' },
    body: '{"orderId":"order-17","amountMinor":"12000"}',
    ...given,
  };
  const departure = {
    mayLeave: () => null,
    timeoutMs: 2000,
    signal: new AbortController().signal,
    bodyMaxBytes: 10_000,
    freshConnection: false,
    ...given,
  };
  return dispatchOnce(dispatcher, outgoing, departure, clock);
}

/** The clock of the process, and how many of the timers asked of it still wait. */
export function countingClock(): Clock & { waiting(): number } {
  const clock = systemClock();
  let waiting = 0;
  return {
    ...clock,
    waiting: () => waiting,
    after(delayMs, fn) {
      let waits = true;
      waiting += 1;
      const over = (): void => {
        if (waits) waiting -= 1;
        waits = false;
      };
      const cancel: CancelTimer = clock.after(delayMs, () => {
        over();
        fn();
      });
      return () => {
        over();
        cancel();
      };
    },
  };
}
