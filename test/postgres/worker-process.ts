/** A worker in a process of its own on a shared database, which brings charges to where they halt, block or freeze it. */

import { fileURLToPath } from 'node:url';
import type { Duration } from 'sagacity';
import type { RecordKind } from '../../src/ports/store.ts';
import { chargeCard } from '../support/shop.ts';
import type { SwiftTimes } from '../support/shared-database.ts';
import { type HeldProcess, startHeld } from './held-process.ts';

/** Short, so that a worker that is away is soon found dead. */
export const briefHeartbeat = { every: '200ms', timeout: '1s' } as const;

/** Where a charge pauses: before a turn that tells of this is sent to the store, or after the store has written it. */
export interface Pause {
  readonly side: 'before' | 'after';
  readonly turn: RecordKind;
  /** `halt`: this charge goes no further. `block` and `freeze`: nothing in the process does, until it is let go on. */
  readonly how: 'halt' | 'block' | 'freeze';
}

/** What a worker process is told on its command line. */
export interface WorkerTask {
  readonly database: string;
  readonly provider: string;
  readonly times: SwiftTimes;
  readonly heartbeat: { readonly every: Duration; readonly timeout: Duration };
  /** Charged in this order, the next one when the last has come to its pause. */
  readonly charges: readonly Charging[];
  /** Kills itself as soon as a late result is handed over, so that nothing that it does afterwards is seen. */
  readonly endAfterHandOver?: boolean;
}

export interface Charging {
  readonly orderId: string;
  /** The provider knows no key and cannot be asked. */
  readonly blind?: boolean;
  readonly pause?: Pause;
}

/** What a worker process says on its way. */
export type Word = `paused ${string}` | 'renewal refused' | 'handed over';

/** The charge of the shop at a provider that knows no key and cannot be asked. */
export function blindCharge(url: string) {
  return chargeCard(url, { action: 'card.charge-blindly', keyless: true, keyRetention: 'none', lookup: 'none' });
}

export type WorkerProcess = HeldProcess<Word>;

export function startWorker(task: WorkerTask): WorkerProcess {
  const program = fileURLToPath(new URL('./worker.child.ts', import.meta.url));
  return startHeld(['--import', 'tsx', '--conditions=sagacity-source', program, JSON.stringify(task)]);
}
