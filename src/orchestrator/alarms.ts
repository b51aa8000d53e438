/**
 * What an attempt showed that waiting does not mend, and somebody has to hear of at once: our credentials are not
 * accepted, or a key was used for something else. Said once for each provider and kind in a minute, because every attempt
 * there shows the same; the history of each operation has its own.
 */

import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';

/** Of whom it is told. */
export interface Alarming {
  readonly operation: string;
  readonly tenant: string;
  readonly action: string;
  readonly provider: string | null;
}

const ONCE_IN_MS = 60_000;

const says = {
  'locked-out': 'a provider does not accept our credentials; what is sent there is not carried out',
  'key-conflict': 'a provider knows an idempotency key from another request; nothing was carried out',
} as const;

export class Alarms {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #saidAt = new Map<string, number>();

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** `body`: what the history tells of the end of the attempt. Without an alarm in it nothing is said. */
  hear({ alarm }: { readonly alarm?: unknown }, { provider, action, ...whose }: Alarming): void {
    if (alarm !== 'locked-out' && alarm !== 'key-conflict') return;
    const kind = JSON.stringify([provider ?? action, alarm]);
    const now = this.#clock.monotonic();
    const before = this.#saidAt.get(kind);
    if (before !== undefined && now < before + ONCE_IN_MS) return;
    this.#saidAt.set(kind, now);
    this.#logger.error({ ...whose, action, provider, alarm }, says[alarm]);
  }
}
