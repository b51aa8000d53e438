import { afterEach, describe, expect, test } from 'vitest';
import {
  type AttemptContext,
  createOrchestrator,
  failed,
  type Logger,
  operation,
  type Orchestrator,
  type Outcome,
  type Run,
  succeeded,
  typed,
  unknown,
} from 'sagacity';
import { type Contract, idempotencyKeyHeader } from 'sagacity/providers';
import { memoryStore, scriptedProvider, type ScriptedProvider, testClock, type TestClock } from 'sagacity/testing';
import { evenChance } from '../support/chance.ts';
import type { Payment } from '../support/shop.ts';
import { reached, until } from '../support/world.ts';

const CARD = '4242424242424242';

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close();
});

type Credentials = (attempt: number) => PromiseLike<Record<string, string>> | Record<string, string>;

/** A shop that charges cards by `http`, with credentials of the moment. */
async function shopThat(
  execute: (context: AttemptContext<Payment>) => Promise<Outcome>,
  credentials: Credentials = () => ({}),
  known: { contract?: Contract; logger?: Logger } = {},
): Promise<{
  provider: ScriptedProvider;
  clock: TestClock;
  orchestrator: Orchestrator<true>;
  submit: (orderId?: string) => Promise<Run<unknown, string>>;
  stored: () => string;
}> {
  const provider = await scriptedProvider();
  const clock = testClock();
  const store = memoryStore({ clock });
  const written: unknown[] = [];
  let asked = 0;
  const charge = operation('card.charge', {
    input: typed<Payment>(),
    key: ({ input }) => input.orderId,
    execute,
    ...{ provider: 'cards', timeout: '10s', lookup: 'none' },
    ...(known.contract === undefined ? { keyRetention: '24h' } : { contract: known.contract }),
    retry: { attempts: 3, backoff: 'fixed', delay: '1s', jitter: 'none' },
  });
  const orchestrator = createOrchestrator({
    ...{ clock, random: evenChance(), definitions: [charge], tenant: 'shop-1' },
    ...(known.logger === undefined ? {} : { logger: known.logger }),
    store: {
      ...store,
      async turn(turn) {
        written.push(turn);
        return await store.turn(turn);
      },
    },
    providers: {
      cards: {
        url: provider.url,
        credentials() {
          asked += 1;
          return credentials(asked);
        },
      },
    },
  });
  await orchestrator.start();
  closings.push(
    () => provider.close(),
    () => orchestrator.stop({ within: 0 }),
  );
  const submit = (orderId = 'order-17') => orchestrator.submit(charge, { orderId, amount: 1200 });
  return { provider, clock, orchestrator, submit, stored: () => JSON.stringify(written) };
}

const charged = ({ http, idempotencyKey, input }: AttemptContext<Payment>) =>
  http.send(
    { url: '/payments', json: { ...input, card: CARD }, headers: { 'idempotency-key': idempotencyKey } },
    ({ body }) => succeeded(body),
  );

/** Throws whatever is not a success, as code that was written for another client does. */
async function chargedOrThrown(context: AttemptContext<Payment>): Promise<Outcome> {
  const outcome = await charged(context);
  if (outcome.type === 'succeeded') return outcome;
  throw new Error(`It is ${outcome.type}.`);
}

const shutDoor = () => Promise.reject(new Error('no token'));

/** Moves the clock until the run has settled or waits for somebody. */
async function ended(clock: TestClock, run: Run<unknown, string>): Promise<string> {
  return await until(async () => {
    const status = await run.status();
    if (['succeeded', 'failed', 'escalated'].includes(status)) return status;
    await clock.advance('100ms');
    return null;
  }, 'the charge to end');
}

describe('a charge whose credentials could not be had', () => {
  test.each([
    ['returns that it was not sent', charged],
    ['throws', chargedOrThrown],
  ])(
    'is proven not to have left, and is sent as soon as it can be, although its executor %s',
    async (_what, execute) => {
      const { provider, clock, submit } = await shopThat(execute, (asked) => (asked === 1 ? shutDoor() : {}));

      const run = await submit();

      expect(await ended(clock, run)).toBe('succeeded');
      expect(await provider.records()).toHaveLength(1);
      const [first] = (await run.history()).filter(({ kind }) => kind === 'end');
      expect(first).toMatchObject({ facts: { outcome: 'not-applied', sent: false } });
    },
  );
});

describe('a charge that is refused', () => {
  test('has failed with the provider’s reason although its executor throws', async () => {
    const { provider, clock, submit } = await shopThat(chargedOrThrown);
    await provider.calls(['decline']);

    const run = await submit();

    expect(await ended(clock, run)).toBe('failed');
    expect(await run.result({ within: 0 })).toMatchObject({ status: 'failed', code: 'http-402' });
    expect(await provider.records()).toHaveLength(0);
  });
});

describe('a charge whose time is over', () => {
  /** Its first attempt waits for its credentials. */
  async function heldAtTheDoor() {
    let open = () => {};
    const late = new Promise<Record<string, string>>((resolve) => {
      open = () => resolve({});
    });
    const { provider, clock, submit } = await shopThat(charged, (asked) => (asked === 1 ? late : {}));
    const run = await submit();
    await reached(run, 'in-progress');
    return { provider, clock, run, open: () => open() };
  }

  test('before it has left is proven not to have, and does not leave any more', async () => {
    const { provider, clock, run, open } = await heldAtTheDoor();

    await clock.advance('11s');
    open();

    expect(await ended(clock, run)).toBe('succeeded');
    expect(await provider.records()).toHaveLength(1);
    expect(await provider.received()).toHaveLength(1);
    const [first] = (await run.history()).filter(({ kind }) => kind === 'end');
    expect(first).toMatchObject({ facts: { outcome: 'not-applied', sent: false } });
  });

  test('to be sent is not sent, however far its executor has come', async () => {
    const { provider, clock, run, open } = await heldAtTheDoor();

    await clock.advance('6s');
    open();

    expect(await ended(clock, run)).toBe('succeeded');
    expect(await provider.received()).toHaveLength(1);
    expect((await run.history()).map(({ facts }) => facts)).toContainEqual(
      expect.objectContaining({ outcome: 'not-applied', reason: 'its time to be sent had passed' }),
    );
  });
});

describe('a charge that is sent again', () => {
  test('has the same key with new credentials, and is charged once', async () => {
    const { provider, clock, submit } = await shopThat(charged, (asked) => ({
      authorization: `Bearer token-${asked}`,
    }));
    await provider.calls(['drop', 'do+drop']);

    const run = await submit();

    expect(await ended(clock, run)).toBe('succeeded');
    expect(await provider.records()).toHaveLength(1);
    const received = await provider.received();
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ key }) => key)).size).toBe(1);
  });
});

describe('the history of a charge', () => {
  test('has what was seen of each request, and nothing that was sent', async () => {
    const { clock, submit, stored } = await shopThat(charged, () => ({ authorization: 'Bearer secret-token' }));

    const run = await submit();

    expect(await ended(clock, run)).toBe('succeeded');
    expect((await run.history()).map(({ facts }) => facts)).toContainEqual(
      expect.objectContaining({
        outcome: 'succeeded',
        reply: expect.objectContaining({
          gate: 'opened',
          status: 201,
          bodyDigest: expect.stringMatching(/^[0-9a-f]{64}$/),
        }),
      }),
    );
    expect(stored()).toContain('bodyDigest');
    expect(stored()).not.toMatch(/secret-token|\/payments/);
  });
});

describe('a charge after whose error the provider may charge again', () => {
  const contract = idempotencyKeyHeader({
    ...{ name: 'cards/charges', docs: 'https://cards.example/docs', verified: 'unverified' },
    ...{ keyRetention: '24h', encoding: 'raw', lookup: 'none', afterServerError: 're-executes' },
  });

  test.each([
    ['passes on what http said', charged],
    ['throws', chargedOrThrown],
    [
      'says by itself that it is unknown',
      async (context: AttemptContext<Payment>) => {
        const outcome = await charged(context);
        return outcome.type === 'unknown' ? unknown('the company did not say') : outcome;
      },
    ],
    [
      'forgets to return anything',
      async (context: AttemptContext<Payment>) => {
        await charged(context);
        // JavaScript has no compiler that would say so.
        return undefined as unknown as Outcome;
      },
    ],
  ])('is not sent again unasked, although its executor %s', async (_what, execute) => {
    const { provider, clock, submit } = await shopThat(execute, undefined, { contract });
    await provider.calls(['fail-before-commit']);

    const run = await submit();

    expect(await ended(clock, run)).toBe('escalated');
    expect(await provider.received()).toHaveLength(1);
  });
});

test('an executor that sends a second request has not sent it, and what the first one proved stays', async () => {
  const { provider, clock, submit } = await shopThat(async (context) => {
    const first = await charged(context);
    await context.http.send({ url: '/emails', json: {} }, () => failed('unreachable'));
    return first;
  });

  const run = await submit();

  await ended(clock, run);
  expect(await provider.records({ kind: 'email' })).toHaveLength(0);
  expect(await provider.records()).toHaveLength(1);
});

describe('a charge whose provider does not accept our credentials', () => {
  test('is not applied, waits for the longest pause, and is told at once, without what was sent', async () => {
    const errors: unknown[] = [];
    const silent = () => {};
    const logger = { debug: silent, info: silent, warn: silent, error: (...said: unknown[]) => errors.push(said) };
    const contract = idempotencyKeyHeader({
      ...{ name: 'cards/charges', docs: 'https://cards.example/docs', verified: 'unverified' },
      ...{ keyRetention: '24h', encoding: 'raw', lookup: 'none' },
      replies: [{ status: 402, proves: 'locked-out' }],
    });
    const { provider, clock, submit } = await shopThat(charged, () => ({ authorization: 'Bearer old-token' }), {
      ...{ contract, logger },
    });
    await provider.calls(['decline', 'decline']);

    const run = await submit();

    expect(await ended(clock, run)).toBe('succeeded');
    expect(await provider.records()).toHaveLength(1);
    const [first, second] = (await run.history()).filter(({ kind }) => kind === 'start');
    expect(Number(second?.at) - Number(first?.at)).toBeGreaterThanOrEqual(30_000);
    expect(errors).toEqual([[expect.objectContaining({ alarm: 'locked-out', provider: 'cards' }), expect.any(String)]]);
    expect(JSON.stringify(errors)).not.toMatch(/old-token|4242|1200/);
  });
});

describe('a provider that cannot be reached', () => {
  test('is left alone, although nothing of what was to be sent there is in doubt', async () => {
    const { provider, clock, orchestrator, submit } = await shopThat(charged);
    await provider.close();
    const runs: Run<unknown, string>[] = [];
    for (let order = 1; order <= 25; order += 1) runs.push(await submit(`order-${order}`));

    await until(async () => {
      if (orchestrator.health().breakers['cards'] === 'open') return true;
      await clock.advance('100ms');
      return null;
    }, 'the breaker to open');

    for (const run of runs) expect(['pending', 'in-progress']).toContain(await run.status());
  });
});
