/**
 * A database fails over to a standby that never got its last commits, while the provider keeps all it was sent. What
 * may have been sent without a record is looked up, or sent again under a key that the provider knows, or handed to a
 * person; and where nothing can be missing, nothing is done about it.
 */

import { afterEach, describe, expect, test } from 'vitest';
import {
  createOrchestrator,
  type Duration,
  failed,
  type Logger,
  notApplied,
  type Orchestrator,
  type Run,
} from 'sagacity';
import type { OperationRow } from '../../src/ports/store.ts';
import { evenChance } from '../support/chance.ts';
import { birth, failingOver, type FailingOver, isClaim, nth } from '../support/failing-over.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { gate, interrupted } from '../support/interrupted.ts';
import {
  type Charge,
  timedShop,
  type TimedChargeOptions,
  type TimedShop,
  type TimedShopOptions,
  told,
} from '../support/timed.ts';
import { reached, until } from '../support/world.ts';

let shop: TimedShop;
let database: FailingOver;
let charge: Charge;
afterEach(() => shop.close());

type ChargeRun = Run<{ chargeId: string }, 'card_declined'>;
type Execute = Charge['options']['execute'];

const payment = { orderId: 'order-17', amount: 5 };
const who = { by: 'shop', reason: 'ordered twice' };
const minute = 60_000;

const keyless = { keyless: true, keyRetention: 'none' } as const;
const kinds = {
  'a key and a look-up': {},
  'a key': { lookup: 'none' },
  'a look-up': { ...keyless, lookup: {} },
  'a look-up and an arrival limit': { ...keyless, lookup: { arrivalLimit: '1m' } },
  nothing: { ...keyless, lookup: 'none' },
} as const satisfies Record<string, TimedChargeOptions>;

type Kind = keyof typeof kinds;

/** How it ends, how many records the provider has then, and how many requests it was sent. */
type Ending = readonly [ending: string, records: number, sent: number];
type Endings = readonly (readonly [Kind, Ending])[];

/** A shop on a database that can fail over; nobody works there yet. `execute` replaces what the charge does. */
async function opened(
  options: TimedShopOptions,
  execute: (context: Parameters<Execute>[0], send: Execute) => ReturnType<Execute> = (context, send) => send(context),
): Promise<void> {
  shop = await timedShop({ start: false, shared: true, ...options });
  database = failingOver(shop.clock);
  const { options: described } = shop.charge;
  charge = { ...shop.charge, options: { ...described, execute: (context) => execute(context, described.execute) } };
}

/** Another process on the database, not started. */
function process(definitions: readonly Charge[] = [charge]): Orchestrator<true> {
  return shop.another({ store: database.store, definitions });
}

async function working(definitions?: readonly Charge[]): Promise<Orchestrator<true>> {
  const started = process(definitions);
  await started.start();
  return started;
}

/** Accepted by a process that does not work and sent by another one, so that its birth and its start are two commits. */
async function acceptedAndSent(): Promise<ChargeRun> {
  const run = await process().submit(charge, payment);
  await working();
  return run;
}

async function requestSent(): Promise<void> {
  await until(async () => ((await shop.sentKeys()).length === 1 ? true : null), 'the request to be sent');
}

async function endOf(run: ChargeRun): Promise<Ending> {
  const result = await run.result({ within: 0 });
  const detail = 'reason' in result ? result.reason : 'code' in result ? result.code : null;
  const ending = detail === null ? result.status : `${result.status}: ${detail}`;
  return [ending, (await shop.provider.records()).length, (await shop.sentKeys()).length];
}

async function lookUps(): Promise<number> {
  return (await shop.provider.received()).filter(({ method }) => method === 'GET').length;
}

/** The request arrived. */
const arrived: Endings = [
  ['a key and a look-up', ['succeeded', 1, 1]],
  ['a key', ['succeeded', 1, 2]],
  ['a look-up', ['succeeded', 1, 1]],
  ['a look-up and an arrival limit', ['succeeded', 1, 1]],
  ['nothing', ['escalated: timeline-changed', 1, 1]],
];

/** The request never arrived. */
const missing: Endings = [
  ['a key and a look-up', ['succeeded', 1, 2]],
  ['a key', ['succeeded', 1, 2]],
  ['a look-up', ['escalated: absent-not-final', 0, 1]],
  ['a look-up and an arrival limit', ['succeeded', 1, 2]],
  ['nothing', ['escalated: timeline-changed', 0, 1]],
];

describe.each([
  ['at once', 0],
  ['after every process has noticed', 6_000],
])('a charge that is gone with its start, and is submitted again %s', (_, laterMs) => {
  test.each(arrived)('is not charged again at a provider with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    const orchestrator = await working();
    await reached(await orchestrator.submit(charge, payment), 'succeeded');
    database.failOver(birth());
    await shop.pass(laterMs);

    const again = await orchestrator.submit(charge, payment);
    await shop.pass('3m', '2s');

    expect(again.submission).toBe('new');
    expect(await endOf(again)).toEqual(expected);
  });

  test.each(missing)('is charged if nothing arrived and that is certain, with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    const orchestrator = await working();
    await shop.provider.calls(['drop']);
    await orchestrator.submit(charge, payment);
    await requestSent();
    database.failOver(birth());
    await shop.pass(laterMs);

    const again = await orchestrator.submit(charge, payment);
    await shop.pass('3m', '2s');

    expect(await endOf(again)).toEqual(expected);
  });
});

describe('a charge that is gone with its start, and is submitted again', () => {
  test.each(arrived)('to another process is not charged again at a provider with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    const first = await working();
    await reached(await first.submit(charge, payment), 'succeeded');
    database.failOver(birth());

    const again = await (await working()).submit(charge, payment);
    await shop.pass('3m', '2s');

    expect(await endOf(again)).toEqual(expected);
  });

  test('in the moment in which it goes, is accepted anew and not charged again', async () => {
    await opened(kinds['a key and a look-up']);
    const orchestrator = await working();
    await reached(await orchestrator.submit(charge, payment), 'succeeded');
    // The submission finds its identity taken, and when it reads by whom, nobody has it.
    let isGone = false;
    const goes = () => {
      if (!isGone) database.failOver(birth());
      isGone = true;
    };
    const late = shop.another({ store: interrupted(database.store, { after: goes }), definitions: [charge] });

    const again = await late.submit(charge, payment);
    await shop.pass('3m', '2s');

    expect(again.submission).toBe('new');
    expect(await endOf(again)).toEqual(['succeeded', 1, 1]);
  });

  test.each(arrived)('where nothing works is not charged again at a provider with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    const first = await working();
    await reached(await first.submit(charge, payment), 'succeeded');
    database.failOver(birth());

    const again = await process().submit(charge, payment);
    await shop.pass('3m', '2s');

    expect(await endOf(again)).toEqual(expected);
  });
});

describe('a charge of which only the start is gone', () => {
  test.each(arrived)('is not charged again at a provider with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    const run = await acceptedAndSent();
    await reached(run, 'succeeded');

    database.failOver(nth(1, 'start'));
    await shop.pass('3m', '2s');

    expect(await endOf(run)).toEqual(expected);
  });

  test.each(missing)('is charged if nothing arrived and that is certain, with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    await shop.provider.calls(['drop']);
    const run = await acceptedAndSent();
    await requestSent();

    database.failOver(nth(1, 'start'));
    await shop.pass('3m', '2s');

    expect(await endOf(run)).toEqual(expected);
  });

  test('tells in its history that a start may be lost, and since which fail-over', async () => {
    await opened(kinds['a key and a look-up']);
    const run = await acceptedAndSent();
    await reached(run, 'succeeded');

    database.failOver(nth(1, 'start'));
    await shop.pass('1m');

    expect(await told(run)).toEqual(['moved -> pending', 'moved -> reconciling', 'lookup found -> succeeded']);
    expect((await run.history())[1]).toMatchObject({
      attempt: 1,
      facts: { why: 'a fail-over may have lost the start of an attempt', timeline: 'timeline-2' },
    });
  });
});

describe('a charge whose settlement is gone', () => {
  test.each(arrived)('is not charged again at a provider with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    const run = await (await working()).submit(charge, payment);
    await reached(run, 'succeeded');

    database.failOver(nth(1, 'end'));
    await shop.pass('3m', '2s');

    expect(await endOf(run)).toEqual(expected);
  });
});

describe('a charge whose second attempt is gone', () => {
  test.each(arrived)('is not charged again at a provider with %s', async (kind, expected) => {
    await opened(kinds[kind], (context, send) =>
      context.attempt === 1 ? notApplied('the connection was refused') : send(context),
    );
    const run = await (await working()).submit(charge, payment);
    await shop.pass('5s');
    const before = await run.status();

    database.failOver(nth(2, 'start'));
    await shop.pass('3m', '2s');

    expect(before).toBe('succeeded');
    expect(await endOf(run)).toEqual(expected);
  });

  test('keeps the time of its key, which counts from the first one', async () => {
    await opened({ ...kinds['a key'], keyRetention: '1h' }, async (context, send) => {
      const outcome = await send(context);
      if (context.attempt === 1) throw new Error('The reply was lost.');
      return outcome;
    });
    const retry = { ...charge.policy.retry, delayMs: 40 * minute, maxDelayMs: 40 * minute };
    charge = { ...charge, policy: { ...charge.policy, retry } };
    const run = await (await working()).submit(charge, payment);
    await shop.pass('1s');
    await shop.clock.advance('40m');
    await reached(run, 'succeeded');
    const before = await database.store.read(run);

    database.failOver(nth(2, 'start'));
    await shop.pass('10s');
    const after = await database.store.read(run);

    expect(after).toMatchObject({ state: 'pending', windowEndsAt: before?.windowEndsAt });
    expect((await run.history()).at(-1)).toMatchObject({ kind: 'moved', attempt: 2 });
  });

  test('does not fail by a refusal of the first one, which comes late', async () => {
    const refusal = gate();
    await opened(kinds['a key'], async (context, send) => {
      if (context.attempt > 1) return send(context);
      await refusal.pass();
      return failed('card_declined');
    });
    const run = await (await working()).submit(charge, payment);
    await shop.pass('15s');
    const before = await run.status();
    database.failOver(nth(1, 'end'));

    refusal.open();
    await shop.pass('3m', '2s');

    expect(before).toBe('succeeded');
    expect(await endOf(run)).toEqual(['succeeded', 1, 2]);
    expect(await told(run)).toContainEqual(expect.stringMatching(/^evidence/));
  });
});

describe('a process that holds what is gone, and waits for the reply', () => {
  const adopted: Endings = arrived.map(([kind]) => [kind, ['succeeded', 1, 1]]);

  async function heldBack(kind: Kind): Promise<Orchestrator<true>> {
    await opened(kinds[kind]);
    const orchestrator = await working();
    await shop.provider.faults(['commit-then-hold']);
    await orchestrator.submit(charge, payment);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    database.failOver(birth());
    return orchestrator;
  }

  test.each(adopted)('gives it to the same charge when it is submitted later, with %s', async (kind, expected) => {
    const orchestrator = await heldBack(kind);
    await shop.provider.release();
    await shop.pass('1s');

    const again = await orchestrator.submit(charge, payment);
    await shop.pass('3m', '2s');

    expect(await endOf(again)).toEqual(expected);
  });

  test.each(adopted)('gives it to the same charge that was submitted meanwhile, with %s', async (kind, [ending]) => {
    const orchestrator = await heldBack(kind);
    const again = await orchestrator.submit(charge, payment);
    await shop.clock.advance('500ms');

    await shop.provider.release();
    await shop.pass('3m', '2s');

    expect((await endOf(again)).slice(0, 2)).toEqual([ending, 1]);
  });
});

describe.each<readonly [string, (sender: Orchestrator<true>, run: ChargeRun) => Promise<void>]>([
  [
    'through the process that sent it and has not noticed',
    async (sender, run) => {
      await sender.cancel(run.id, { ...who, within: 0 });
    },
  ],
  [
    'before any process works again',
    async (sender, run) => {
      await sender.stop({ within: 0 });
      await process().cancel(run.id, { ...who, within: 0 });
      await working();
    },
  ],
])('a charge whose start is gone, and that is cancelled %s', (_, cancel) => {
  async function sent(): Promise<readonly [Orchestrator<true>, ChargeRun]> {
    const run = await process().submit(charge, payment);
    return [await working(), run];
  }

  test.each<readonly [Kind, Ending]>([
    ['a key and a look-up', ['succeeded', 1, 1]],
    ['a key', ['escalated: timeline-changed', 1, 1]],
    ['a look-up', ['succeeded', 1, 1]],
    ['a look-up and an arrival limit', ['succeeded', 1, 1]],
    ['nothing', ['escalated: timeline-changed', 1, 1]],
  ])('does not fail as cancelled when it was charged, with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    const [sender, run] = await sent();
    await reached(run, 'succeeded');
    database.failOver(isClaim);

    await cancel(sender, run);
    await shop.pass('3m', '2s');

    expect(await endOf(run)).toEqual(expected);
  });

  test.each<readonly [Kind, Ending]>([
    ['a key and a look-up', ['escalated: absent-not-final', 0, 1]],
    ['a key', ['escalated: timeline-changed', 0, 1]],
    ['a look-up', ['escalated: absent-not-final', 0, 1]],
    ['a look-up and an arrival limit', ['failed: cancelled', 0, 1]],
    ['nothing', ['escalated: timeline-changed', 0, 1]],
  ])('fails as cancelled only when it is certain that nothing arrived, with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    await shop.provider.calls(['drop']);
    const [sender, run] = await sent();
    await requestSent();
    database.failOver(isClaim);

    await cancel(sender, run);
    await shop.pass('3m', '2s');

    expect(await endOf(run)).toEqual(expected);
  });
});

describe('a charge whose start is gone, and that is due when its key would be forgotten', () => {
  /** Somebody notices the fail-over; only later somebody works who knows the charge. */
  async function dueAfter(wait: Duration, fault: 'drop' | `forget(${number})`): Promise<ChargeRun> {
    await shop.provider.calls([fault]);
    const run = await process().submit(charge, payment);
    const sender = await working();
    await requestSent();
    await shop.clock.advance(0);
    database.failOver(nth(1, 'start'));
    await sender.stop({ within: 0 });
    await working([shop.charging({ action: 'gift.charge' })]);
    await shop.clock.advance(wait);
    await working();
    await shop.pass('3m', '2s');
    return run;
  }

  test.each([
    ['where nobody can be asked', kinds['a key'], `forget(${60 * minute})`, 1],
    ['where nothing is found', kinds['a key and a look-up'], 'drop', 0],
  ] as const)('is handed to a person %s', async (_, kind, fault, records) => {
    await opened({ ...kind, keyRetention: '1h' });

    const run = await dueAfter('59m', fault);

    expect(await endOf(run)).toEqual(['escalated: window-passed', records, 1]);
  });

  test('is sent again under it while it is still known', async () => {
    await opened({ ...kinds['a key'], keyRetention: '1h' });

    const run = await dueAfter('25m', `forget(${60 * minute})`);

    expect(await endOf(run)).toEqual(['succeeded', 1, 2]);
  });
});

describe('a charge that was sent after a fail-over, and whose reply comes late', () => {
  test('fails by it, for it speaks of no attempt that is lost', async () => {
    const reply = gate();
    let sent = 0;
    await opened(kinds['a look-up and an arrival limit'], async (context, send) => {
      sent += 1;
      if (sent === 1) throw new Error('The connection was refused.');
      await reply.pass();
      return sent === 2 ? failed('card_declined') : send(context);
    });
    const orchestrator = await working();
    await orchestrator.submit(charge, payment);
    database.failOver(birth());
    const again = await orchestrator.submit(charge, payment);
    await until(async () => {
      await shop.pass('1s');
      return sent === 2 ? true : null;
    }, 'the attempt after the fail-over');
    await shop.pass('12s');
    const doubtful = await again.status();

    reply.open();
    await shop.pass('10s');

    expect(doubtful).toBe('reconciling');
    expect(await endOf(again)).toEqual(['failed: card_declined', 0, 0]);
  });
});

describe('a process whose heartbeat is slow', () => {
  const slow = { heartbeat: { every: '1h', timeout: '3h' } } as const;

  test.each(arrived)('learns of a fail-over by the first start that is refused, with %s', async (kind, expected) => {
    await opened({ ...kinds[kind], ...slow });
    const run = await acceptedAndSent();
    await reached(run, 'succeeded');

    database.failOver(isClaim);
    await shop.pass('3m', '2s');

    expect(await endOf(run)).toEqual(expected);
  });

  test.each(arrived)('learns of it by the first submission that is refused, with %s', async (kind, expected) => {
    await opened({ ...kinds[kind], ...slow });
    const orchestrator = await working();
    await reached(await orchestrator.submit(charge, payment), 'succeeded');

    database.failOver(birth());
    const again = await orchestrator.submit(charge, payment);
    await shop.pass('3m', '2s');

    expect(await endOf(again)).toEqual(expected);
  });

  test('learns of it by the first reply that the store knows no start of', async () => {
    await opened({ ...kinds['a key and a look-up'], ...slow });
    const orchestrator = await working();
    await shop.provider.faults(['commit-then-hold']);
    await orchestrator.submit(charge, payment);
    await shop.provider.logged(({ event }) => event === 'HOLD');
    database.failOver(birth());

    await shop.provider.release();
    const learnt = await until(async () => {
      await shop.clock.advance(0);
      return database.enlisted > 1 ? database.enlisted : null;
    }, 'the process to go on under another name');

    expect(learnt).toBe(2);
  });
});

describe('a charge that is submitted after a fail-over', () => {
  async function noticed(): Promise<Orchestrator<true>> {
    await opened(kinds['a key and a look-up']);
    const orchestrator = await working();
    await reached(await orchestrator.submit(charge, payment), 'succeeded');
    database.failOver(nth(1, 'end'));
    await shop.pass('30s');
    return orchestrator;
  }

  test('is looked up first while it may be the repetition of one that is lost', async () => {
    const orchestrator = await noticed();
    await shop.clock.advance('14m');
    const before = await lookUps();

    const run = await orchestrator.submit(charge, { ...payment, orderId: 'order-18' });
    await shop.pass('2m');

    expect(await run.status()).toBe('succeeded');
    expect(await lookUps()).toBeGreaterThan(before);
  });

  test('is sent without a look-up later than that, for two writes', async () => {
    const orchestrator = await noticed();
    await shop.clock.advance('15m');
    const before = await lookUps();
    const written = database.written.length;

    const run = await orchestrator.submit(charge, { ...payment, orderId: 'order-18' });
    await reached(run, 'succeeded');

    expect(await lookUps()).toBe(before);
    expect(database.written).toHaveLength(written + 2);
    expect(await told(run)).toEqual(['start -> pending in-progress', 'end succeeded -> succeeded']);
  });
});

describe('a process that starts without a fail-over', () => {
  test('looks nothing up, and writes no more than before', async () => {
    await opened(kinds['a key and a look-up']);
    const accepted = await process().submit(charge, payment);
    const first = await working();
    await reached(accepted, 'succeeded');
    await first.stop({ within: 0 });

    const run = await (await working()).submit(charge, { ...payment, orderId: 'order-18' });
    await reached(run, 'succeeded');
    await shop.pass('1m');

    expect(await lookUps()).toBe(0);
    expect(database.written).toHaveLength(3 + 2);
  });
});

describe('a second fail-over while the first one is not over', () => {
  test.each(arrived)('does not bring another charge, with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    const orchestrator = await working();
    await reached(await orchestrator.submit(charge, payment), 'succeeded');
    database.failOver(birth());
    const again = await orchestrator.submit(charge, payment);
    await shop.pass('20s');

    database.failOver(({ turn }) => turn?.was?.revision === 1);
    await shop.pass('3m', '2s');

    expect(await endOf(again)).toEqual(kind === 'a key' ? ['succeeded', 1, 3] : expected);
  });

  test.each(missing)('does not bring another charge if the first sent nothing, with %s', async (kind, expected) => {
    await opened(kinds[kind]);
    const orchestrator = await working();
    await shop.provider.calls(['drop']);
    await orchestrator.submit(charge, payment);
    await requestSent();
    database.failOver(birth());
    await orchestrator.submit(charge, payment);
    await shop.pass('3m', '2s');
    const [, records, sent] = await endOf(await orchestrator.submit(charge, payment));

    database.failOver(birth());
    const again = await orchestrator.submit(charge, payment);
    await shop.pass('3m', '2s');

    expect([records, sent]).toEqual(expected.slice(1));
    const [ending, atLast] = await endOf(again);
    expect(atLast).toBe(records);
    expect(ending).toBe(records === 1 ? 'succeeded' : expected[0]);
  });
});

describe('a process that writes a log', () => {
  const twenty = Array.from({ length: 20 }, (_, n) => ({ ...payment, orderId: `order-${n}` }));

  test.each([
    ['twenty submissions at once', 0],
    ['its heartbeat', 6_000],
  ])('tells once, with both timelines, of a fail-over that it learns of by %s', async (_, laterMs) => {
    await opened(kinds['a key and a look-up']);
    const said: unknown[] = [];
    const say = (facts: object, message: string) => void said.push({ ...facts, message });
    const logger: Logger = { debug() {}, info() {}, warn: say, error: say };
    const orchestrator = createOrchestrator({
      ...{ store: database.store, clock: shop.clock, random: evenChance(), definitions: [charge], tenant: 'shop-1' },
      logger,
    });
    await orchestrator.start();
    await reached(await orchestrator.submit(charge, payment), 'succeeded');
    database.failOver(birth());
    await shop.pass(laterMs);

    const runs = await Promise.all(twenty.map((order) => orchestrator.submit(charge, order)));
    await shop.pass('3m', '2s');
    const ended = await Promise.all(runs.map((run) => run.status()));
    const stopping = orchestrator.stop({ within: '1s' });
    await shop.pass('2s');
    await stopping;

    expect(new Set(ended)).toEqual(new Set(['succeeded']));
    expect(await shop.provider.records()).toHaveLength(20);
    expect(said).toEqual([expect.objectContaining({ before: 'timeline-1', timeline: 'timeline-2' })]);
  });
});

describe('a person who read the history that is lost', () => {
  /** The same charge escalates twice, once on each timeline, and both times after as many turns. */
  async function readBefore(): Promise<{
    run: ChargeRun;
    seen: string;
    lost: OperationRow;
    owner: Orchestrator<true>;
  }> {
    await opened(kinds.nothing);
    await shop.provider.calls(['commit-then-drop']);
    const run = await acceptedAndSent();
    await reached(run, 'escalated');
    const [read] = await process().operator.doubts();
    const lost = await database.store.read(run);
    if (read === undefined || lost === null) throw new Error('Nobody is asked.');
    database.failOver(nth(1, 'end'));
    const owner = await working();
    await shop.pass('1m');
    const row = await database.store.read(run);
    expect(row).toMatchObject({ state: 'escalated', revision: lost.revision });
    expect(row?.turn).not.toBe(lost.turn);
    return { run, seen: read.seen, lost, owner };
  }

  const decision = { by: 'on-call', evidence: 'the books of the bank' };

  test('is refused on another history of as many turns, and nothing changes', async () => {
    const { run, seen, owner } = await readBefore();
    const before = await database.store.read(run);

    const deciding = owner.operator.resolve(run.id, notApplied('not in the books'), { ...decision, seen });

    await expect(deciding).rejects.toMatchObject({ code: 'RESOLUTION_REFUSED', facts: { id: run.id, seen } });
    expect(await database.store.read(run)).toEqual({ ...before, now: shop.clock.now() });
    expect(await endOf(run)).toEqual(['escalated: timeline-changed', 1, 1]);
  });

  test('is refused where the decision is applied, by a process that reads the old history still', async () => {
    const { run, seen, lost } = await readBefore();
    const behind = shop.another({ store: overlay(database.store, { read: async () => lost }), definitions: [charge] });

    const deciding = behind.operator.resolve(run.id, notApplied('not in the books'), { ...decision, seen });
    const refusal = deciding.catch((error: unknown) => error);
    await shop.pass('5s');

    expect(await refusal).toMatchObject({ code: 'RESOLUTION_REFUSED', facts: { seen } });
    expect((await run.history()).at(-1)).toMatchObject({ kind: 'verdict', facts: { seen, accepted: false } });
    expect(await endOf(run)).toEqual(['escalated: timeline-changed', 1, 1]);
  });

  test('decides once they have read what it says now', async () => {
    const { run, owner } = await readBefore();
    const [read] = await owner.operator.doubts();

    await owner.operator.resolve(run.id, failed('card_declined'), { ...decision, seen: read?.seen ?? '' });

    expect(await endOf(run)).toEqual(['failed: card_declined', 1, 1]);
  });
});
