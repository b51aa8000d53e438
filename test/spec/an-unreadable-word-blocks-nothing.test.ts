/**
 * What is handed over outlives versions: a body that this version cannot read is refused and kept as it came, and
 * what was handed over beside it is applied as if it had not been there.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { type Run, succeeded } from 'sagacity';
import { toBody } from '../../src/orchestrator/handover.ts';
import type { Json } from '../../src/domain/json.ts';
import { timedShop, type TimedShop } from '../support/timed.ts';
import { reached } from '../support/world.ts';

let shop: TimedShop;
afterEach(() => shop.close());

const bodies: readonly [string, Json][] = [
  ['null', null],
  ['a text', 'evidence'],
  ['a list', []],
  ['of no kind', {}],
  ['of a kind that is not known', { kind: 'webhook', attempt: 1 }],
  ['in a form that cannot be decoded', { $: ['from-a-later-version', 1, 2] }],
  ['evidence without an attempt', { kind: 'evidence', outcome: { type: 'failed', code: 'declined' } }],
  ['evidence without an outcome', { kind: 'evidence', attempt: 1 }],
  ['evidence of an outcome that is not known', { kind: 'evidence', attempt: 1, outcome: { type: 'reversed' } }],
  ['evidence of a success without an output', { kind: 'evidence', attempt: 1, outcome: { type: 'succeeded' } }],
  ['a verdict without an outcome', { kind: 'verdict', by: 'operator-3', evidence: 'x', seen: '2.turn' }],
  ['a verdict on a history of an earlier form', { kind: 'verdict', by: 'x', seen: 2, outcome: { type: 'look-up' } }],
  ['a verdict on no history', { kind: 'verdict', by: 'operator-3', outcome: { type: 'look-up' } }],
  [
    'a verdict that says unknown',
    { kind: 'verdict', by: 'x', seen: '2.turn', outcome: { type: 'unknown', reason: 'x' } },
  ],
  ['a cancellation by nobody', { kind: 'cancel' }],
];

/** A charge that waits for a person; whatever is handed over to it now waits for the next turn. */
async function escalated(): Promise<Run<{ chargeId: string }, string>> {
  shop = await timedShop({ lookup: 'none', keyRetention: 'none' });
  await shop.provider.calls(['commit-then-drop']);
  const run = await shop.orchestrator.submit(shop.charge, { orderId: 'order-17', amount: 5 });
  await reached(run, 'escalated');
  return run;
}

function handOver(run: Run<unknown, string>, handoverId: string, body: Json): Promise<void> {
  return shop.store.handOver({ tenant: run.tenant, id: run.id, handoverId, body });
}

describe('a hand-over that this version cannot read', () => {
  test.each(bodies)('(%s) is refused, recorded and taken', async (_, body) => {
    const run = await escalated();

    await handOver(run, 'later-1', body);
    await shop.pass('1m');

    const row = await shop.store.read({ tenant: run.tenant, id: run.id });
    expect(row?.handovers).toEqual([]);
    expect((await run.history()).at(-1)?.facts).toMatchObject({
      handoverId: 'later-1',
      accepted: false,
      why: 'this version cannot read it',
    });
    expect(await run.status()).toBe('escalated');
    expect(await shop.provider.records()).toHaveLength(1);
  });

  test('does not hold up the evidence and the decisions that came with it', async () => {
    const run = await escalated();
    const refused = { type: 'unknown', reason: 'nobody knows' } as const;
    for (const [n, [, body]] of bodies.entries()) await handOver(run, `later-${n}`, body);
    const [doubt] = await shop.orchestrator.operator.doubts();

    await shop.orchestrator.operator.resolve(run.id, succeeded({ chargeId: 'payment_1' }), {
      ...{ by: 'operator-3', evidence: 'seen in the dashboard', seen: doubt?.seen ?? '' },
    });
    await handOver(run, 'late-1', toBody({ kind: 'evidence', source: 'late-result', attempt: 1, outcome: refused }));
    await shop.pass('1m');

    const history = await run.history();
    expect(await run.status()).toBe('succeeded');
    expect(history.filter(({ facts }) => facts['accepted'] === false)).toHaveLength(bodies.length);
    expect(history.filter(({ facts }) => facts['accepted'] === true)).toHaveLength(2);
    expect((await shop.store.read({ tenant: run.tenant, id: run.id }))?.handovers).toEqual([]);
    expect(await shop.provider.records()).toHaveLength(1);
  });
});
