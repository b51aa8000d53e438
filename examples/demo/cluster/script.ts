/**
 * What is ordered, and how each order has to end. The ending is written into the order itself: it names a company that
 * refuses everything, or one whose replies are always lost and that cannot be asked. All other companies lose some
 * replies, no matter whose, because that changes no ending.
 */

import type { CallModeName, ProviderClient } from 'sagacity/testing';
import type { Chance } from './chance.ts';
import type { Order } from './shop.ts';

export type Ending = 'succeeded' | 'compensated' | 'escalated';

export const endings: readonly Ending[] = ['succeeded', 'compensated', 'escalated'];

export interface Scripted {
  readonly order: Order;
  readonly ending: Ending;
}

/** By the kind of record: how many of an order the companies hold at its end. No other kind has any. */
export const recordsOf: Readonly<
  Record<Ending, Readonly<Record<string, { readonly from: number; readonly to: number }>>>
> = {
  succeeded: oneOfEach('authorisation', 'reservation', 'shipment', 'capture', 'email'),
  compensated: oneOfEach('authorisation', 'reservation', 'release', 'void'),
  escalated: {
    ...oneOfEach('authorisation', 'reservation', 'shipment', 'capture'),
    // A person is asked because nobody knows whether there is one; there are never two.
    invoice: { from: 0, to: 1 },
  },
};

function oneOfEach(...kinds: readonly string[]) {
  return Object.fromEntries(kinds.map((kind) => [kind, { from: 1, to: 1 }]));
}

/** Of ten orders seven succeed, two are taken back, and about one a person is asked. */
export function scripted(sagas: number, chance: Chance): readonly Scripted[] {
  const taken = Math.max(1, Math.round(sagas * 0.2));
  const asked = Math.max(1, Math.round(sagas * 0.1));
  const all = Array.from({ length: sagas }, (_, n): Ending => {
    if (n < taken) return 'compensated';
    return n < taken + asked ? 'escalated' : 'succeeded';
  });
  return chance.shuffled(all).map((ending, n) => ({
    ending,
    order: {
      orderId: `order-${n + 1}`,
      amount: 100 + chance.below(10_000),
      carrier: ending === 'compensated' ? 'courier' : 'parcel service',
      notice: ending === 'escalated' ? 'letter' : 'e-mail',
    },
  }));
}

/** What happens to some requests, wherever they go. None of it changes an ending. */
const troubles: readonly CallModeName[] = ['commit-then-drop', 'commit-then-error', 'fail-before-commit'];

const troubled = ['authorisation', 'reservation', 'shipment', 'capture', 'email', 'release', 'void'];

/** Of so many requests one is in trouble. */
const ONE_IN = 8;

/** All others are answered, the slowest after this. */
const SLOW_MS = 300;

/** An order may ask more than once, when what came of its first request was lost with a worker. */
const TIMES = 10;

/** Tells the companies what to do with all orders. */
export async function instruct(provider: ProviderClient, sagas: number, chance: Chance): Promise<void> {
  const lot = (): CallModeName | `slow(${number})` => {
    const trouble = chance.below(ONE_IN) === 0 ? troubles[chance.below(troubles.length)] : undefined;
    return trouble ?? `slow(${chance.below(SLOW_MS)})`;
  };
  for (const kind of troubled) await provider.faults(Array.from({ length: 2 * sagas }, lot), kind);
  const always = (mode: CallModeName) => Array.from({ length: TIMES * sagas }, () => mode);
  await provider.faults(always('decline'), 'booking');
  await provider.faults(always('commit-then-drop'), 'invoice');
}
