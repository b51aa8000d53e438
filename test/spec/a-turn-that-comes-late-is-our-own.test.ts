/** A statement may be answered with "no" while an earlier, identical one of ours is still on its way. */

import { createOrchestrator, notApplied, operation, succeeded, typed } from 'sagacity';
import { memoryStore, testClock } from 'sagacity/testing';
import { describe, expect, test } from 'vitest';
import { evenChance } from '../support/chance.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { tells } from '../support/interrupted.ts';
import { until } from '../support/world.ts';

describe('a turn that is carried out after its repetition was refused', () => {
  test('is known as our own, and the operation goes on from there', async () => {
    const clock = testClock();
    const sent: number[] = [];
    const pay = operation('payment.authorise', {
      input: typed<{ orderId: string }>(),
      key: ({ input }) => input.orderId,
      execute({ attempt }) {
        sent.push(attempt);
        return Promise.resolve(attempt === 1 ? notApplied('busy') : succeeded({ sent: true }));
      },
      keyRetention: '24h',
      lookup: 'none',
    });
    const rows = memoryStore({ clock });
    let late = 0;
    const store = overlay(rows, {
      async turn(turn) {
        if (turn.birth !== null || !tells(turn, 'start') || late === 2) return rows.turn(turn);
        late += 1;
        if (late === 2) await rows.turn({ ...turn, turn: 'the one that came late' });
        return late === 1 ? null : rows.turn(turn);
      },
    });
    const orchestrator = createOrchestrator({
      ...{ store, clock, random: evenChance(), definitions: [pay], tenant: 'shop-1' },
    });
    await orchestrator.start();
    const run = await orchestrator.submit(pay, { orderId: 'order-17' });

    const end = await until(async () => {
      await clock.advance('1s');
      const state = await run.status();
      return state === 'succeeded' ? state : null;
    }, 'the operation to go on');

    const kinds = (await run.history()).map(({ kind, attempt }) => `${kind} ${attempt}`);
    expect(end).toBe('succeeded');
    expect(sent).toEqual([1, 3]);
    expect(kinds).toEqual(['start 1', 'end 1', 'start 2', 'end 2', 'start 3', 'end 3']);
    await orchestrator.stop({ within: 0 });
  });
});
