/**
 * A saga waits for a signal for as long as it says, by the clock of the store: what was said is what its next steps see;
 * when nothing was said in time, it does what its author wrote. Of a signal and the end of the time in one turn, the
 * signal counts. The provider's records are the proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { saga, signal, typed } from 'sagacity';
import * as z from 'zod';
import { now, order, type Part, sagaReached, sagaShop, type SagaShop, type Trade } from '../support/saga-shop.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const approved = signal('approved', { payload: typed<{ readonly by: string }>() });
const by = { by: 'shift-lead' };

function common() {
  return { input: typed<Part>(), key: ({ input }: { readonly input: Part }) => input.orderId };
}

/** Authorise, wait an hour for an approval, reserve. */
function careful({ authorise, reserve }: Trade, otherwise: 'compensate' | 'continue') {
  return saga('careful', common())
    .step('money', authorise, ({ input }) => input)
    .waitFor('approval', approved, { within: '1h', otherwise })
    .step('goods', reserve, ({ input }) => input);
}

/** Capture, wait an hour for an approval, mail. */
function late({ capture, email }: Trade, otherwise: 'escalate' | 'continue') {
  return saga('late', common())
    .pivot('capture', capture, ({ input }) => input)
    .waitFor('approval', approved, { within: '1h', otherwise })
    .step('email', email, ({ input }) => input);
}

describe('a saga that waits for a signal', () => {
  test('goes on with what was said', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade, 'compensate');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');

    const applied = await orchestrator.signal(run.id, approved, by, { eventId: 'click-81' });
    await sagaReached(run, 'succeeded');

    expect(applied).toEqual({ status: 'applied' });
    expect(await now(run)).toMatchObject({ status: 'succeeded', output: { approval: by } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('remembers what was said over a restart', async () => {
    shop = await sagaShop();
    const { authorise, reserve, pay } = shop.trade;
    const selling = saga('noted', common())
      .step('money', authorise, ({ input }) => input)
      .waitFor('approval', approved, { within: '1h', otherwise: 'compensate' })
      .step('goods', reserve, ({ input, approval }) => ({ ...input, of: approval.by }))
      .sleep('rest', '10m')
      .step('payment', pay, ({ input, approval }) => ({ ...input, of: approval.by }))
      .output(({ approval }) => approval.by);
    const first = await shop.open([selling]);
    const { id } = await first.submit(selling, order);
    await first.signal(id, approved, by, { eventId: 'click-81' });
    await shop.rest();
    await first.stop();

    const second = await shop.open([selling]);
    await shop.pass('11m');

    expect(await now(await second.sagaRun({ saga: selling, key: order.orderId }))).toEqual({
      status: 'succeeded',
      output: 'shift-lead',
    });
  });

  test('gets what the schema of the signal makes of the payload, and nothing that it refuses', async () => {
    shop = await sagaShop();
    const counted = signal('counted', { payload: z.object({ pieces: z.number().default(1) }) });
    const selling = saga('stock', common())
      .waitFor('count', counted, { within: '1h', otherwise: 'compensate' })
      .output(({ count }) => count.pieces);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);

    // Nobody with a compiler could write it.
    const wrong = orchestrator.signal(run.id, counted, { pieces: 'many' } as never, { eventId: 'scan-1' });
    await expect(wrong).rejects.toMatchObject({ code: 'INPUT_INVALID', message: expect.stringMatching(/pieces/) });
    await orchestrator.signal(run.id, counted, {}, { eventId: 'scan-1' });

    expect(await now(run)).toEqual({ status: 'succeeded', output: 1 });
  });
});

describe('a saga to which nothing is said in time', () => {
  test('takes back what it did, and says why', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade, 'compensate');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);

    await shop.pass('59m');
    const before = await run.status();
    await shop.pass('2m');

    expect(before).toBe('waiting');
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'approval', code: 'timed-out' } });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('goes on without it where its author says so', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade, 'continue');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);

    await shop.pass('61m');

    const end = await now(run);
    expect(end).toMatchObject({ status: 'succeeded' });
    expect(end).not.toHaveProperty('output.approval');
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('notices after a restart, when its time was over while nobody was at work', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade, 'compensate');
    const first = await shop.open([selling]);
    const { id } = await first.submit(selling, order);
    await sagaReached(await first.sagaRun(id), 'waiting');
    await first.stop();

    await shop.clock.advance(7_200_000);
    const second = await shop.open([selling]);
    await shop.pass('10s');

    expect(await now(await second.sagaRun(id))).toMatchObject({ status: 'compensated' });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('after the pivot goes on without it where its author says so', async () => {
    shop = await sagaShop();
    const selling = late(shop.trade, 'continue');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);

    await shop.pass('61m');

    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['capture', 'email']);
  });
});

describe('a saga past its pivot to which nothing is said in time, and for which a person is asked', () => {
  async function asking() {
    shop = await sagaShop();
    const selling = late(shop.trade, 'escalate');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await shop.pass('61m');
    return { orchestrator, run };
  }

  test('is listed, and still takes the signal', async () => {
    const { orchestrator, run } = await asking();
    const asked = { result: await now(run), listed: await orchestrator.operator.escalatedSagas() };

    await orchestrator.signal(run.id, approved, by, { eventId: 'click-81' });
    await sagaReached(run, 'succeeded');

    expect(asked.result).toMatchObject({ status: 'escalated', reason: 'step-failed' });
    expect(asked.listed).toMatchObject([{ id: run.id }]);
    expect(await now(run)).toMatchObject({ output: { approval: by } });
    expect(await shop.kept()).toEqual(['capture', 'email']);
  });

  test('goes on with what a person says instead', async () => {
    const { orchestrator, run } = await asking();

    const said = { type: 'succeeded', output: { by: 'by phone' } } as const;
    await orchestrator.operator.resolveStep(run.id, said, { by: 'the shop', evidence: 'a call' });
    await sagaReached(run, 'succeeded');

    expect(await now(run)).toMatchObject({ output: { approval: { by: 'by phone' } } });
  });

  test('waits as long again when a person says so', async () => {
    const { orchestrator, run } = await asking();

    const again = { type: 'not-applied', reason: 'they are on holiday' } as const;
    await orchestrator.operator.resolveStep(run.id, again, { by: 'the shop', evidence: 'a call' });
    await shop.pass('59m');
    const meanwhile = await run.status();
    await shop.pass('2m');

    expect(meanwhile).toBe('waiting');
    expect(await run.status()).toBe('escalated');
  });
});

describe('a signal and the end of the time', () => {
  test('in one turn: the signal counts, although the time is over', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade, 'compensate');
    const first = await shop.open([selling]);
    const run = await first.submit(selling, order);
    await sagaReached(run, 'waiting');
    await first.stop();
    // Said in time, to a database at which nobody works until long after.
    const sender = await shop.open([selling], { start: false });
    const sending = sender.signal(run.id, approved, by, { eventId: 'click-81', within: '1s' });
    await shop.clock.advance('2s');
    const sent = await sending;

    await shop.clock.advance('3h');
    await shop.open([selling]);
    await shop.pass('10s');

    expect(sent).toEqual({ status: 'waiting' });
    expect(await now(await sender.sagaRun(run.id))).toMatchObject({ status: 'succeeded', output: { approval: by } });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('said to another process at the last moment: who holds the saga looks before its timer fires', async () => {
    shop = await sagaShop();
    const { authorise, reserve } = shop.trade;
    const selling = saga('hasty', common())
      .step('money', authorise, ({ input }) => input)
      .waitFor('approval', approved, { within: '5s', otherwise: 'compensate' })
      .step('goods', reserve, ({ input }) => input);
    // Nothing but its timer has it look into the store.
    const orchestrator = await shop.open([selling], { sweepEvery: '1h' });
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');
    const sender = await shop.open([selling], { start: false });

    await sender.signal(run.id, approved, by, { eventId: 'click-81', within: 0 });
    const before = await run.status();
    await shop.pass('10s');

    expect(before).toBe('waiting');
    expect(await now(run)).toMatchObject({ status: 'succeeded' });
    expect(await shop.kept()).toEqual(['authorisation', 'reservation']);
  });

  test('the other way round: what comes after the time is refused', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade, 'continue');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await shop.pass('61m');

    const tooLate = orchestrator.signal(run.id, approved, by, { eventId: 'click-81' });

    await expect(tooLate).rejects.toMatchObject({ code: 'SIGNAL_REFUSED' });
    expect(await now(run)).not.toHaveProperty('output.approval');
  });
});

describe('a saga that waits in a branch', () => {
  test('goes on in the others, and takes all back when nothing was said', async () => {
    shop = await sagaShop();
    const { authorise, reserve, pay } = shop.trade;
    const selling = saga('fair', common())
      .parallel('prepare', (branch) => ({
        bank: branch.step('money', authorise, ({ input }) => input),
        office: branch
          .waitFor('approval', approved, { within: '1h', otherwise: 'compensate' })
          .step('goods', reserve, ({ input }) => input),
      }))
      .step('payment', pay, ({ input }) => input);
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);

    await shop.pass('59m');
    const meanwhile = await shop.kept();
    await shop.pass('2m');

    expect(meanwhile).toEqual(['authorisation']);
    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'approval', code: 'timed-out' } });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('as two do for the same signal: one is enough for both', async () => {
    shop = await sagaShop();
    const { authorise, reserve } = shop.trade;
    const wait = { within: '1h', otherwise: 'compensate' } as const;
    const selling = saga('both', common()).parallel('prepare', (branch) => ({
      bank: branch.waitFor('credit', approved, wait).step('money', authorise, ({ input }) => input),
      stock: branch.waitFor('release', approved, wait).step('goods', reserve, ({ input }) => input),
    }));
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);

    await orchestrator.signal(run.id, approved, by, { eventId: 'click-81' });
    await sagaReached(run, 'succeeded');

    expect(await now(run)).toMatchObject({ output: { credit: by, release: by } });
  });

  test('and is called off takes back what the others did', async () => {
    shop = await sagaShop();
    const selling = careful(shop.trade, 'compensate');
    const orchestrator = await shop.open([selling]);
    const run = await orchestrator.submit(selling, order);
    await sagaReached(run, 'waiting');

    await orchestrator.cancel(run.id, { by: 'the shop', reason: 'sold out' });
    await sagaReached(run, 'compensated');

    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });
});
