/**
 * An operation that is declared shared is one effect for every saga that means the same by it. Whoever comes first has
 * it, executes it and alone may take it back; the others join it, are told how it ended, and while they are open it is
 * not taken back under them. The provider's records are the proof.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { failed, saga, typed } from 'sagacity';
import { mortal } from '../support/mortal-store.ts';
import {
  faultsOf,
  type Habit,
  now,
  onlyDoubt,
  order,
  type Part,
  sagaReached,
  sagaShop,
  type SagaShop,
  type Trade,
} from '../support/saga-shop.ts';
import { delivery, heldUp, sale } from '../support/shared-reservation.ts';

let shop: SagaShop;
afterEach(() => shop.close());

const who = { by: 'the shop', reason: 'the customer changed their mind' };

/** A shop whose reservations are shared. */
function sharing(reservation: Habit = {}): Promise<SagaShop> {
  return sagaShop({ reservation: { isShared: true, ...reservation } });
}

async function sent(kind: 'reservation' | 'release'): Promise<number> {
  return (await shop.provider.received({ kind })).filter(({ method }) => method === 'POST').length;
}

describe('a saga whose step is in flight for another one', () => {
  test('waits for it, sends nothing, and both succeed with its one output', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    shop.hold('reservation');

    const owner = await orchestrator.submit(selling, order);
    await shop.held('reservation');
    const joiner = await orchestrator.submit(delivering, order);
    await shop.pass('6s');
    const meanwhile = [await joiner.status(), ...(await shop.kept())];
    shop.letGo('reservation');
    await sagaReached(owner, 'succeeded');
    await sagaReached(joiner, 'succeeded');

    expect(meanwhile).toEqual(['in-progress', 'reservation', 'authorisation']);
    expect(await sent('reservation')).toBe(1);
    expect(await now(joiner)).toEqual({ status: 'succeeded', output: { reserved: 'reservation_1' } });
  });

  test('waits through its doubt, and is told what a look-up finds', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await shop.provider.calls(['do+drop'], 'reservation');
    await shop.provider.lookups(['lookup500', 'lookup500'], 'reservation');

    const owner = await orchestrator.submit(selling, order);
    const joiner = await orchestrator.submit(delivering, order);
    await shop.pass('10m');

    expect([await owner.status(), await joiner.status()]).toEqual(['succeeded', 'succeeded']);
    expect(await sent('reservation')).toBe(1);
  });

  test('is refused as it is refused, and takes back its own steps only', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await shop.provider.calls(['decline'], 'reservation');
    shop.hold('reservation');

    const owner = await orchestrator.submit(selling, order);
    await shop.held('reservation');
    const joiner = await orchestrator.submit(delivering, order);
    await shop.rest();
    shop.letGo('reservation');
    await sagaReached(owner, 'compensated');
    await sagaReached(joiner, 'compensated');

    expect(await now(joiner)).toEqual({ status: 'compensated', cause: { step: 'goods', code: 'declined' } });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('can be cancelled while it waits, and leaves it alone', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    shop.hold('reservation');

    const owner = await orchestrator.submit(selling, order);
    await shop.held('reservation');
    const joiner = await orchestrator.submit(delivering, order);
    await shop.rest();
    await orchestrator.cancel(joiner.id, who);
    await sagaReached(joiner, 'compensated');
    const meanwhile = await owner.status();
    shop.letGo('reservation');
    await sagaReached(owner, 'succeeded');

    expect(meanwhile).toBe('in-progress');
    expect(await now(joiner)).toEqual({ status: 'compensated', cause: { step: null, code: 'cancelled' } });
    expect((await shop.kept()).toSorted()).toEqual(['authorisation', 'payment', 'reservation', 'void']);
  });
});

describe('a saga whose step waits to be sent for another one', () => {
  /** The owner's reservation had no effect and waits for its second attempt; the joiner waits for that. */
  async function waiting() {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await shop.provider.calls(['busy409'], 'reservation');
    const owner = await orchestrator.submit(selling, order);
    await shop.rest();
    const joiner = await orchestrator.submit(delivering, order);
    await shop.rest();
    return { orchestrator, owner, joiner };
  }

  test.each(['cancelled', 'ended as it stands'])('is told that it was given up when that one is %s', async (how) => {
    const { orchestrator, owner, joiner } = await waiting();

    if (how === 'cancelled') await orchestrator.cancel(owner.id, who);
    else await orchestrator.operator.terminate(owner.id, who);
    await sagaReached(joiner, 'compensated');
    await shop.pass('10m');

    expect(await now(joiner)).toEqual({ status: 'compensated', cause: { step: 'goods', code: 'given-up' } });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });

  test('finds in its history which operation that was, whose, and what to do now', async () => {
    const { orchestrator, owner, joiner } = await waiting();

    await orchestrator.cancel(owner.id, who);
    await sagaReached(joiner, 'compensated');

    const [refusal] = (await joiner.history()).flatMap(({ facts }) => facts['refusal'] ?? []);
    const message = new RegExp(`stock.reserve \\(op_.+\\) .+ given up by saga ${owner.id}.+ another key`);
    expect(refusal).toEqual({ step: 'goods', code: 'given-up', message: expect.stringMatching(message) });
  });
});

describe('a saga whose step waits to be sent alone', () => {
  test('is told that it was given up when that is cancelled', async () => {
    shop = await sharing();
    const delivering = delivery(shop.trade);
    const orchestrator = await shop.open([shop.trade.reserve, delivering]);
    await shop.provider.calls(['busy409'], 'reservation');
    const alone = await orchestrator.submit(shop.trade.reserve, order);
    await shop.rest();
    const joiner = await orchestrator.submit(delivering, order);
    await shop.rest();

    await orchestrator.cancel(alone.id, who);
    await sagaReached(joiner, 'compensated');

    expect(await alone.result({ within: 0 })).toEqual({ status: 'failed', code: 'cancelled' });
    expect(await now(joiner)).toEqual({ status: 'compensated', cause: { step: 'goods', code: 'given-up' } });
    expect(await shop.kept()).toEqual(['authorisation', 'void']);
  });
});

describe('a saga whose step has settled for another one', () => {
  test('goes on with its output at once', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await sagaReached(await orchestrator.submit(selling, order), 'succeeded');

    const joiner = await orchestrator.submit(delivering, order);
    await shop.rest();

    expect(await now(joiner)).toEqual({ status: 'succeeded', output: { reserved: 'reservation_1' } });
    expect(await sent('reservation')).toBe(1);
  });

  test('never takes it back itself', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await shop.provider.calls(['decline'], 'booking');
    const owner = await orchestrator.submit(selling, order);
    await sagaReached(owner, 'succeeded');

    const joiner = await orchestrator.submit(delivering, order);
    await shop.pass('10m');

    expect([await owner.status(), await joiner.status()]).toEqual(['succeeded', 'compensated']);
    expect(await shop.kept()).toEqual(['reservation', 'payment', 'authorisation', 'void']);
  });

  test('is refused where that was refused', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await shop.provider.calls(['decline'], 'reservation');
    await sagaReached(await orchestrator.submit(selling, order), 'compensated');

    const joiner = await orchestrator.submit(delivering, order);
    await sagaReached(joiner, 'compensated');

    expect(await now(joiner)).toEqual({ status: 'compensated', cause: { step: 'goods', code: 'declined' } });
    expect(await sent('reservation')).toBe(1);
  });

  test('is refused as taken back where it has been taken back', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await shop.provider.calls(['decline'], 'payment');
    await sagaReached(await orchestrator.submit(selling, order), 'compensated');

    const joiner = await orchestrator.submit(delivering, order);
    await sagaReached(joiner, 'compensated');

    expect(await now(joiner)).toEqual({ status: 'compensated', cause: { step: 'goods', code: 'taken-back' } });
    expect(await shop.kept()).toEqual(['reservation', 'release', 'authorisation', 'void']);
  });

  test('is refused as taken back where that is under way', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await shop.provider.calls(['decline'], 'payment');
    shop.hold('release');
    const owner = await orchestrator.submit(selling, order);
    await shop.held('release');

    const joiner = await orchestrator.submit(delivering, order);
    await sagaReached(joiner, 'compensated');
    shop.letGo('release');
    await sagaReached(owner, 'compensated');

    expect(await now(joiner)).toEqual({ status: 'compensated', cause: { step: 'goods', code: 'taken-back' } });
    expect(await sent('release')).toBe(1);
  });
});

describe('a saga whose step stands alone already', () => {
  test('joins it in flight', async () => {
    shop = await sharing();
    const delivering = delivery(shop.trade);
    const orchestrator = await shop.open([shop.trade.reserve, delivering]);
    shop.hold('reservation');

    await orchestrator.submit(shop.trade.reserve, order);
    await shop.held('reservation');
    const joiner = await orchestrator.submit(delivering, order);
    await shop.rest();
    shop.letGo('reservation');
    await sagaReached(joiner, 'succeeded');

    expect(await sent('reservation')).toBe(1);
  });

  test('joins it settled', async () => {
    shop = await sharing();
    const delivering = delivery(shop.trade);
    const orchestrator = await shop.open([shop.trade.reserve, delivering]);
    const alone = await orchestrator.submit(shop.trade.reserve, order);
    await alone.result({ within: 0 });
    await shop.rest();

    const joiner = await orchestrator.submit(delivering, order);
    await shop.rest();

    expect(await joiner.status()).toBe('succeeded');
    expect(await sent('reservation')).toBe(1);
  });
});

describe('a submission alone of what a saga has', () => {
  test('is given the run of that one', async () => {
    shop = await sharing();
    const selling = sale(shop.trade);
    const orchestrator = await shop.open([selling, shop.trade.reserve]);
    await sagaReached(await orchestrator.submit(selling, order), 'succeeded');

    const alone = await orchestrator.submit(shop.trade.reserve, order);

    expect(alone.submission).toBe('replayed');
    expect(await sent('reservation')).toBe(1);
  });
});

describe('a saga that means something else by the same key', () => {
  test('is at fault, and sends nothing', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await sagaReached(await orchestrator.submit(selling, order), 'succeeded');

    const other = await orchestrator.submit(delivering, { ...order, of: 'another shelf' });
    await sagaReached(other, 'escalated');
    await shop.pass('10m');

    expect(await now(other)).toEqual({ status: 'escalated', reason: 'definition-fault', cause: null });
    expect(await sent('reservation')).toBe(1);
    expect(JSON.stringify(await other.history())).toContain('with other parameters');
  });

  test('looks again after a minute, then two, then four, and is at fault all the while', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await sagaReached(await orchestrator.submit(selling, order), 'succeeded');
    const other = await orchestrator.submit(delivering, { ...order, of: 'another shelf' });
    await sagaReached(other, 'escalated');
    const [before] = await orchestrator.operator.escalatedSagas();

    await shop.pass('10m');
    const [after] = await orchestrator.operator.escalatedSagas();

    // Met at once, and again after 1, 3 and 7 minutes.
    expect(await faultsOf(other)).toHaveLength(4);
    expect(after?.since).toEqual(before?.since);
  });

  test('can be cancelled, and takes back what it did before', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const orchestrator = await shop.open([selling, delivering]);
    await sagaReached(await orchestrator.submit(selling, order), 'succeeded');
    const other = await orchestrator.submit(delivering, { ...order, of: 'another shelf' });
    await sagaReached(other, 'escalated');

    await orchestrator.cancel(other.id, who);
    await sagaReached(other, 'compensated');

    expect(await shop.kept()).toEqual(['reservation', 'payment', 'authorisation', 'void']);
  });
});

describe('a saga at fault with what it takes back, which another one had joined', () => {
  test('tries again after a minute, then two, then four', async () => {
    shop = await sharing();
    const { reserve, release, pay } = shop.trade;
    const selling = saga('sale', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('goods', reserve, ({ input }) => input, {
        compensate: {
          operation: release,
          input() {
            throw new Error('the number of the reservation is nowhere');
          },
        },
      })
      .step('payment', pay, ({ input }) => input);
    const delivering = delivery(shop.trade);
    const orchestrator = await shop.open([selling, delivering]);
    await shop.provider.calls(['decline'], 'payment');
    shop.hold('payment');
    const owner = await orchestrator.submit(selling, order);
    await shop.held('payment');
    await sagaReached(await orchestrator.submit(delivering, order), 'succeeded');
    shop.letGo('payment');
    await sagaReached(owner, 'escalated');

    await shop.pass('10m');

    expect(await now(owner)).toMatchObject({ status: 'escalated', reason: 'definition-fault' });
    expect(await faultsOf(owner)).toHaveLength(4);
  });
});

describe('a saga that has to take back what an open saga has joined', () => {
  test('waits for it, asks a person, and goes on by itself once that has settled', async () => {
    shop = await sharing();
    const { owner, joiner } = await heldUp(shop);
    await shop.pass('5s');
    const meanwhile = { result: await now(owner), released: await sent('release') };
    shop.letGo('booking');
    await sagaReached(joiner, 'succeeded');
    await shop.pass('10s');

    expect(meanwhile.result).toEqual({
      ...{ status: 'escalated', reason: 'joined' },
      cause: { step: 'payment', code: 'declined' },
    });
    expect(meanwhile.released).toBe(0);
    expect(await owner.status()).toBe('compensated');
    expect(await sent('release')).toBe(1);
  });

  test('goes on in the moment in which that succeeds, and not with its next look', async () => {
    shop = await sharing();
    const { owner, joiner } = await heldUp(shop);
    await shop.pass('6s');

    shop.letGo('booking');
    await sagaReached(joiner, 'succeeded');
    await shop.rest();

    expect(await owner.status()).toBe('compensated');
    expect(await sent('release')).toBe(1);
  });

  test('goes on as soon as a person has settled that, after minutes in which it looked ever more seldom', async () => {
    shop = await sagaShop({ reservation: { isShared: true }, booking: { keyRetention: 'none', lookup: 'none' } });
    const { orchestrator, owner, joiner } = await heldUp(shop);
    await shop.pass('6m');
    const { id, seen } = await onlyDoubt(orchestrator);
    const meanwhile = await now(owner);

    await orchestrator.operator.resolve(id, failed('full'), { by: 'the shop', evidence: 'a call', seen });
    await sagaReached(joiner, 'compensated');
    await shop.rest();

    expect(meanwhile).toMatchObject({ status: 'escalated', reason: 'joined' });
    expect(await owner.status()).toBe('compensated');
    expect(await sent('release')).toBe(1);
  });

  test('goes on as soon as a person has ended that as it stands', async () => {
    shop = await sagaShop({ reservation: { isShared: true }, booking: { isRefused: true } });
    const { orchestrator, owner, joiner } = await heldUp(shop);
    await shop.pass('6s');

    await orchestrator.operator.terminate(joiner.id, who);
    shop.letGo('booking');
    await sagaReached(joiner, 'terminated');
    await shop.rest();

    expect(await owner.status()).toBe('compensated');
    expect(await sent('release')).toBe(1);
  });

  test('goes on when the other one was cancelled, and it is taken back once', async () => {
    shop = await sharing();
    const { orchestrator, owner, joiner } = await heldUp(shop);
    await orchestrator.cancel(joiner.id, who);
    shop.letGo('booking');
    await sagaReached(joiner, 'compensated');
    await shop.pass('10s');

    expect(await owner.status()).toBe('compensated');
    expect((await shop.kept()).toSorted()).toEqual(
      ['authorisation', 'booking', 'cancellation', 'release', 'reservation', 'void'].toSorted(),
    );
  });

  test('can be ended as it stands by a person', async () => {
    shop = await sharing();
    const { orchestrator, owner } = await heldUp(shop);

    await orchestrator.operator.terminate(owner.id, who);

    expect(await owner.status()).toBe('terminated');
    expect(await sent('release')).toBe(0);
  });

  test('stays where it is whatever else it is told meanwhile', async () => {
    shop = await sharing();
    const { orchestrator, owner } = await heldUp(shop);

    await orchestrator.cancel(owner.id, who);

    expect(await owner.status()).toBe('escalated');
    expect(await sent('release')).toBe(0);
  });
});

/** Authorises, captures, after which there is no way back, and writes a mail. */
function finalSale({ authorise, capture, email }: Trade, name: string) {
  return saga(name, { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('money', authorise, ({ input }) => input)
    .pivot('capture', capture, ({ input }) => input)
    .step('email', email, ({ input }) => input);
}

describe('a saga whose pivot another one has', () => {
  test('takes nothing back any more once that has succeeded', async () => {
    shop = await sagaShop({ capture: { isShared: true } });
    const [first, second] = [finalSale(shop.trade, 'first'), finalSale(shop.trade, 'second')];
    const orchestrator = await shop.open([first, second]);
    await sagaReached(await orchestrator.submit(first, order), 'succeeded');
    shop.hold('email');

    const joiner = await orchestrator.submit(second, order);
    await shop.held('email');
    const answer = await orchestrator.cancel(joiner.id, who);
    shop.letGo('email');
    await sagaReached(joiner, 'succeeded', 'compensated');

    expect(answer).toEqual({ status: 'too-late' });
    expect(await shop.kept()).not.toContain('void');
  });

  test('that is cancelled while that is in flight goes on when it succeeds', async () => {
    shop = await sagaShop({ capture: { isShared: true } });
    const [first, second] = [finalSale(shop.trade, 'first'), finalSale(shop.trade, 'second')];
    const orchestrator = await shop.open([first, second]);
    shop.hold('capture');
    await orchestrator.submit(first, order);
    await shop.held('capture');
    const joiner = await orchestrator.submit(second, order);
    await shop.rest();

    const answer = await orchestrator.cancel(joiner.id, who);
    const meanwhile = await shop.kept();
    shop.letGo('capture');
    await sagaReached(joiner, 'succeeded', 'compensated');

    expect(answer).toEqual({ status: 'accepted' });
    expect(meanwhile).not.toContain('void');
    expect(await joiner.status()).toBe('succeeded');
    expect(await shop.kept()).not.toContain('void');
  });

  test('that is cancelled while that is in flight is taken back when it is refused', async () => {
    shop = await sagaShop({ capture: { isShared: true } });
    const [first, second] = [finalSale(shop.trade, 'first'), finalSale(shop.trade, 'second')];
    const orchestrator = await shop.open([first, second]);
    await shop.provider.calls(['decline'], 'capture');
    shop.hold('capture');
    await orchestrator.submit(first, order);
    await shop.held('capture');
    const joiner = await orchestrator.submit(second, order);
    await shop.rest();

    await orchestrator.cancel(joiner.id, who);
    shop.letGo('capture');
    await sagaReached(joiner, 'compensated');

    expect((await shop.kept()).toSorted()).toEqual(['authorisation', 'authorisation', 'void', 'void']);
  });

  test('and means something else by it is taken back when it is cancelled', async () => {
    shop = await sagaShop({ capture: { isShared: true } });
    const [first, second] = [finalSale(shop.trade, 'first'), finalSale(shop.trade, 'second')];
    const orchestrator = await shop.open([first, second]);
    await sagaReached(await orchestrator.submit(first, order), 'succeeded');
    const other = await orchestrator.submit(second, { ...order, of: 'another price' });
    await sagaReached(other, 'escalated');

    await orchestrator.cancel(other.id, who);
    await sagaReached(other, 'compensated');

    expect(await shop.kept()).toEqual(['authorisation', 'capture', 'email', 'authorisation', 'void']);
  });
});

describe('a process that dies at any of its writes while two sagas share an operation', () => {
  const deaths = Array.from({ length: 14 }, (_, at) => at + 1).flatMap((write) =>
    (['before', 'after'] as const).map((side) => ({ side, write })),
  );

  test.each(deaths)('$side write $write leaves one effect, and both succeed', async (death) => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const dying = await shop.open([selling, delivering], { store: mortal(shop.store, death) });
    void dying.submit(selling, order);
    await shop.rest();
    void dying.submit(delivering, order);
    await shop.pass('10s');

    const next = await shop.open([selling, delivering]);
    const runs = [await next.submit(selling, order), await next.submit(delivering, order)];
    await shop.pass('5m');

    expect(await Promise.all(runs.map((run) => run.status()))).toEqual(['succeeded', 'succeeded']);
    expect((await shop.kept()).toSorted()).toEqual(['authorisation', 'booking', 'payment', 'reservation']);
  });
});

describe('two steps of one saga that others have, of which one is refused', () => {
  test('end it with that one, and the other one is joined no more', async () => {
    shop = await sagaShop({ reservation: { isShared: true }, payment: { isShared: true } });
    const { authorise, pay, reserve } = shop.trade;
    const both = saga('both', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('deposit', authorise, ({ input }) => input)
      .parallel('rest', (branch) => ({
        warehouse: branch.step('goods', reserve, ({ input }) => input),
        bank: branch.step('payment', pay, ({ input }) => input),
      }));
    const orchestrator = await shop.open([reserve, pay, both]);
    await shop.provider.calls(['decline'], 'reservation');
    await orchestrator.submit(reserve, order);
    const payment = await orchestrator.submit(pay, order);
    await shop.rest();

    const run = await orchestrator.submit(both, order);
    await sagaReached(run, 'compensated');

    expect(await now(run)).toEqual({ status: 'compensated', cause: { step: 'goods', code: 'declined' } });
    expect(JSON.stringify(await payment.history())).not.toContain(run.id);
    expect(await shop.kept()).toEqual(['payment', 'authorisation', 'void']);
  });
});

describe('two sagas that hold each other, because each has to take back what the other one has joined', () => {
  test('wait for a person, who ends one of them as it stands and has it taken back after the other', async () => {
    shop = await sagaShop({ reservation: { isShared: true }, authorisation: { isShared: true } });
    const { authorise, book, pay, reserve } = shop.trade;
    const first = saga('first', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('money', authorise, ({ input }) => input)
      .step('payment', pay, ({ input }) => ({ ...input, of: 'first' }))
      .step('goods', reserve, ({ input }) => input)
      .step('courier', book, ({ input }) => input);
    const second = saga('second', { input: typed<Part>(), key: ({ input }) => input.orderId })
      .step('goods', reserve, ({ input }) => input)
      .step('payment', pay, ({ input }) => ({ ...input, of: 'second' }))
      .step('money', authorise, ({ input }) => input)
      .step('courier', book, ({ input }) => input);
    const orchestrator = await shop.open([first, second]);
    shop.hold('payment');
    await shop.provider.calls(['decline', 'decline'], 'booking');
    const runs = [await orchestrator.submit(first, order), await orchestrator.submit(second, order)] as const;
    await shop.held('payment');
    await shop.rest();
    shop.letGo('payment');
    await shop.pass('2m');
    const held = await Promise.all(runs.map((run) => run.status()));

    await orchestrator.operator.terminate(runs[0].id, who);
    await sagaReached(runs[0], 'terminated');
    await shop.pass('1m');
    const afterwards = await runs[1].status();
    await orchestrator.operator.compensate(runs[0].id, who);
    await sagaReached(runs[0], 'compensated');

    expect([...held, afterwards]).toEqual(['escalated', 'escalated', 'compensated']);
    expect((await shop.kept()).slice(-2)).toEqual(['release', 'void']);
  });
});

describe('two tenants that mean the same by name', () => {
  test('have an operation each', async () => {
    shop = await sharing();
    const [selling, delivering] = [sale(shop.trade), delivery(shop.trade)];
    const first = await shop.open([selling, delivering]);
    await sagaReached(await first.submit(selling, order), 'succeeded');
    const second = await shop.open([selling, delivering], { tenant: 'shop-2' });

    const other = await second.submit(delivering, order);
    await sagaReached(other, 'succeeded');

    expect(await sent('reservation')).toBe(2);
  });
});
