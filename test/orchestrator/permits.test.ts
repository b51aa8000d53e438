/**
 * Permits as everybody meets them who asks in any order: no limit is ever exceeded, nobody waits who could go, and of
 * those who want the same nobody is overtaken.
 */

import fc from 'fast-check';
import { testClock } from 'sagacity/testing';
import { describe, expect, test } from 'vitest';
import { type Ceiling, ceilingOf, type WorkLimit } from '../../src/define/work-limit.ts';
import { type Ceilings, type Errand, type Permit, Permits } from '../../src/orchestrator/permits.ts';
import '../domain/seed.ts';

const limit = (given: WorkLimit): Ceiling => ceilingOf(given, { called: 'the test', facts: {} }, 'limit');

const perSecond = (atOnce: number): Ceiling => ({ concurrency: Infinity, pace: { atOnce, everyMs: 1_000 } });

const psp = limit({ concurrency: 3, rate: '4/s' });
const ceilings: Ceilings = {
  concurrency: 6,
  ofActions: new Map([
    ['card.charge', [limit({ concurrency: 2 }), psp]],
    ['card.refund', [psp]],
    ['label.buy', [limit({ rate: '90/m' })]],
    ['email.send', []],
  ]),
  ofProviders: new Map([['psp', { ceiling: psp, breaker: null, retryBudget: perSecond(2) }]]),
  providerOf: new Map([
    ['card.charge', 'psp'],
    ['card.refund', 'psp'],
  ]),
  perTenant: limit({ concurrency: 4, rate: '5/s' }),
};

/** What the limits above come to: whose attempts they count, how many at once, and how many begin in which time. */
const rules: readonly {
  readonly counts: (errand: Errand) => boolean;
  readonly atOnce: number;
  readonly begun: number;
  readonly withinMs: number;
}[] = [
  { counts: () => true, atOnce: 6, begun: Infinity, withinMs: 1 },
  { counts: ({ action }) => action === 'card.charge', atOnce: 2, begun: Infinity, withinMs: 1 },
  { counts: ({ action }) => action.startsWith('card.'), atOnce: 3, begun: 4, withinMs: 1_000 },
  {
    counts: ({ action, kind }) => action.startsWith('card.') && kind === 'further',
    ...{ atOnce: Infinity, begun: 2, withinMs: 1_000 },
  },
  // Ninety a minute, smoothly: the next one two thirds of a second after each.
  { counts: ({ action }) => action === 'label.buy', atOnce: Infinity, begun: 1, withinMs: 667 },
  ...['shop-1', 'shop-2'].map((name) => ({
    counts: ({ tenant }: Errand) => tenant === name,
    ...{ atOnce: 4, begun: 5, withinMs: 1_000 },
  })),
];

/** Of operations that name no provider, for any tenant. */
const unnamed = { ofProviders: new Map(), providerOf: new Map(), perTenant: null };

interface Asked extends Errand {
  readonly n: number;
  permit: Permit | null;
  state: 'waiting' | 'has it' | 'under way' | 'over';
  begunAt: number | null;
}

const tenants = fc.constantFrom('shop-1', 'shop-2');
const actions = fc.constantFrom(...ceilings.ofActions.keys());
const kinds = fc.constantFrom('first', 'further', 'look-up');
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('ask'), tenant: tenants, action: actions, kind: kinds }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constantFrom('begin', 'end', 'leave it'), which: fc.nat(20) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('pass'), ms: fc.nat(900) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** Carries out the steps, and looks at the rules after each. */
async function play(steps: readonly Step[]): Promise<void> {
  const clock = testClock();
  const permits = new Permits(ceilings, clock, () => {});
  const all: Asked[] = [];
  for (const [n, next] of steps.entries()) {
    if ('tenant' in next) {
      const { tenant, action, kind } = next;
      const asked: Asked = { n, tenant, action, kind, permit: null, state: 'waiting', begunAt: null };
      all.push(asked);
      void permits.take(asked).then((permit) => {
        Object.assign(asked, { permit, state: 'has it' });
      });
    } else if ('ms' in next) {
      await clock.advance(next.ms);
    } else {
      const from = next.type === 'end' ? 'under way' : 'has it';
      const those = all.filter(({ state }) => state === from);
      const one = those[next.which % Math.max(1, those.length)];
      if (one === undefined) continue;
      if (next.type === 'begin') {
        one.permit?.use();
        Object.assign(one, { state: 'under way', begunAt: clock.monotonic() });
      } else {
        one.permit?.giveBack();
        one.state = 'over';
      }
    }
    await clock.advance(0);
    expectRules(all, clock.monotonic());
  }
  permits.stop();
  await clock.advance(0);
  expect(all.filter(({ state }) => state === 'waiting')).toEqual([]);
  expect(clock.pending()).toBe(0);
}

function expectRules(all: readonly Asked[], now: number): void {
  const rooms = rules.map(({ counts, atOnce, begun, withinMs }) => {
    const its = all.filter(counts);
    const out = its.filter(({ state }) => state === 'has it' || state === 'under way').length;
    const begunAt = its.flatMap((one) => one.begunAt ?? []).toSorted((a, b) => a - b);
    const crowded = begunAt.filter(
      (at) => begunAt.filter((other) => other >= at && other < at + withinMs).length > begun,
    );
    const unused = its.filter(({ state }) => state === 'has it').length;
    const lately = begunAt.filter((at) => at > now - withinMs).length;
    expect(out).toBeLessThanOrEqual(atOnce);
    expect(crowded).toEqual([]);
    return { counts, room: Math.min(atOnce - out, begun - lately - unused) };
  });
  const waiting = all.filter(({ state }) => state === 'waiting');
  const idle = waiting.filter((one) => rooms.every(({ counts, room }) => !counts(one) || room > 0));
  expect(idle).toEqual([]);
  const overtaken = waiting.filter((one) =>
    all.some(({ n, tenant, action, kind, state }) => {
      const isOfSameLine = tenant === one.tenant && action === one.action && kind === one.kind;
      return state !== 'waiting' && n > one.n && isOfSameLine;
    }),
  );
  expect(overtaken).toEqual([]);
}

describe('whoever asks for permits, in any order', () => {
  test('exceeds no limit at any time and no rate in any window, waits for nothing, and is not overtaken', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), play), { numRuns: 150 });
  });
});

describe('those who wait for a slot', () => {
  test('go in the order in which they asked, whatever each of them wants', async () => {
    const clock = testClock();
    const permits = new Permits({ ...ceilings, concurrency: 1 }, clock, () => {});
    const went: string[] = [];
    const ask = async (tenant: string, action: string) => {
      const permit = await permits.take({ tenant, action, kind: 'first' });
      went.push(`${action} of ${tenant}`);
      permit?.giveBack();
    };
    const first = permits.tryTake({ tenant: 'shop-1', action: 'email.send', kind: 'first' });
    const asked = [
      ask('shop-2', 'label.buy'),
      ask('shop-1', 'card.charge'),
      ask('shop-2', 'email.send'),
      ask('shop-1', 'label.buy'),
    ];

    first?.giveBack();
    await Promise.all(asked);

    expect(went).toEqual([
      'label.buy of shop-2',
      'card.charge of shop-1',
      'email.send of shop-2',
      'label.buy of shop-1',
    ]);
  });
});

describe('who waits for a rate while somebody else has a token and does not use it', () => {
  test('goes as soon as one that was used is back', async () => {
    const clock = testClock();
    const ofActions = new Map([['label.buy', [limit({ rate: '2/s' })]]]);
    const permits = new Permits({ ...unnamed, concurrency: 9, ofActions }, clock, () => {});
    const label: Errand = { tenant: 'shop-1', action: 'label.buy', kind: 'first' };
    permits.tryTake(label)?.use();
    await clock.advance(500);
    permits.tryTake(label);
    let wentAt: number | null = null;
    void permits.take(label).then(() => (wentAt = clock.monotonic()));

    await clock.advance(5_000);

    expect(wentAt).toBe(1_000);
  });
});

describe('who waits for a provider that is ill', () => {
  const breaker = { withinMs: 30_000, ends: 1, share: 0.5, pauseMs: 10_000, maxPauseMs: 60_000 };
  const ill: Ceilings = {
    ...{ concurrency: 9, perTenant: null, ofActions: new Map([['card.charge', []]]) },
    ofProviders: new Map([['psp', { ceiling: null, breaker, retryBudget: null }]]),
    providerOf: new Map([['card.charge', 'psp']]),
  };
  const charge: Errand = { tenant: 'shop-1', action: 'card.charge', kind: 'first' };

  test('goes when one may try, without anybody asking, and the rest when that has ended well', async () => {
    const clock = testClock();
    const permits = new Permits(ill, clock, () => {});
    const first = permits.tryTake(charge);
    first?.ended('ill');
    first?.giveBack();
    const went: { readonly at: number; readonly permit: Permit | null }[] = [];
    const go = (permit: Permit | null) => void went.push({ at: clock.monotonic(), permit });
    for (let n = 0; n < 3; n += 1) void permits.take(charge).then(go);

    await clock.advance('15s');
    const tried = went.map(({ at }) => at);
    went[0]?.permit?.ended('well');
    await clock.advance(0);

    expect(tried).toEqual([10_000]);
    expect(went.map(({ at }) => at)).toEqual([10_000, 15_000, 15_000]);
    permits.stop();
  });
});

describe('a permit for something else instead of one that is in hand', () => {
  const tight: Ceilings = {
    concurrency: 1,
    ofActions: new Map([
      ['card.charge', [limit({ concurrency: 1 })]],
      ['label.buy', [limit({ rate: '1/s' })]],
    ]),
    ...unnamed,
  };

  test('keeps what both need, although others wait for it', async () => {
    const permits = new Permits(tight, testClock(), () => {});
    const first = permits.tryTake({ tenant: 'shop-1', action: 'card.charge', kind: 'first' });
    let isServed = false;
    void permits.take({ tenant: 'shop-2', action: 'card.charge', kind: 'first' }).then(() => (isServed = true));

    const next = permits.tryTake({ tenant: 'shop-1', action: 'label.buy', kind: 'first' }, first);
    await testClock().advance(0);

    expect(next).not.toBeNull();
    expect(isServed).toBe(false);
  });

  test('is refused for want of a limit of its own, and the one in hand stays', () => {
    const clock = testClock();
    const permits = new Permits(tight, clock, () => {});
    const label = permits.tryTake({ tenant: 'shop-1', action: 'label.buy', kind: 'first' });
    label?.use();
    label?.giveBack();
    const charge = permits.tryTake({ tenant: 'shop-1', action: 'card.charge', kind: 'first' });

    const next = permits.tryTake({ tenant: 'shop-1', action: 'label.buy', kind: 'first' }, charge);

    expect(next).toBeNull();
    expect(permits.free).toBe(0);
    charge?.giveBack();
    expect(permits.free).toBe(1);
  });
});

describe('a rate', () => {
  test.each([
    ['25/s', { atOnce: 25, everyMs: 1_000 }],
    ['600/m', { atOnce: 10, everyMs: 1_000 }],
    ['90/m', { atOnce: 1, everyMs: 667 }],
    ['10/h', { atOnce: 1, everyMs: 360_000 }],
  ] as const)('%s lets what falls to a second go at once, and never more than it says', (rate, pace) => {
    expect(limit({ rate })).toEqual({ concurrency: Infinity, pace });
  });

  test('of any count and unit never lets more of them go in one unit', () => {
    const units = fc.constantFrom(['s', 1_000] as const, ['m', 60_000] as const, ['h', 3_600_000] as const);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999_999 }), units, (count, [unit, unitMs]) => {
        const { pace } = limit({ rate: `${count}/${unit}` });

        // As fast as it lets them: so many at once at the beginning of the unit, and again and again.
        const bursts = pace === null ? Infinity : Math.ceil(unitMs / pace.everyMs);
        expect(bursts * (pace?.atOnce ?? Infinity)).toBeLessThanOrEqual(count);
      }),
    );
  });
});

describe('tenants that have nothing under way any more', () => {
  test('are forgotten, however many they were, and those that have something are not', () => {
    const clock = testClock();
    const permits = new Permits({ ...ceilings, perTenant: limit({ concurrency: 1 }) }, clock, () => {});
    const mail = (tenant: string) => permits.tryTake({ tenant, action: 'email.send', kind: 'first' });
    const busy = mail('shop-busy');

    for (let n = 0; n < 5_000; n += 1) mail(`shop-${n}`)?.giveBack();

    expect(permits.tenantsKnown).toBeLessThanOrEqual(1_000);
    expect(mail('shop-busy')).toBeNull();
    busy?.giveBack();
    expect(mail('shop-busy')).not.toBeNull();
  });
});
