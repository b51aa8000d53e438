/**
 * Who shows a run to people follows it: told where it stands now, and wherever it is seen to have come since, by this
 * process or by another one, until it has settled or nobody looks any more.
 */

import { afterEach, describe, expect, test } from 'vitest';
import { type Logger, type Run, saga, type SagaRun, typed } from 'sagacity';
import { order, type Part, sagaReached, sagaShop, type SagaShop, type Trade } from '../support/saga-shop.ts';
import { until } from '../support/world.ts';

let shop: SagaShop;
afterEach(() => shop.close());

function selling({ authorise, capture }: Trade) {
  return saga('selling', { input: typed<Part>(), key: ({ input }) => input.orderId })
    .step('money', authorise, ({ input }) => input)
    .sleep('returns', '10m')
    .pivot('capture', capture, ({ input }) => input);
}

/** What a follower is told, and a promise of when that holds a state. */
function follower(run: { readonly follow: SagaRun['follow'] | Run['follow'] }) {
  const seen: string[] = [];
  const end = run.follow((status) => void seen.push(status));
  return {
    seen,
    end,
    told: (state: string) => until(() => (seen.includes(state) ? true : null), `to be told ${state}`),
  };
}

describe('who follows a saga', () => {
  test('is told of each state once, until it has settled', async () => {
    shop = await sagaShop();
    const definition = selling(shop.trade);
    const orchestrator = await shop.open([definition]);
    shop.hold('authorisation');
    const run = await orchestrator.submit(definition, order);
    const { seen, told } = follower(run);
    await told('in-progress');
    shop.letGo('authorisation');
    await told('waiting');

    await shop.pass('11m');
    await told('succeeded');

    expect(seen[0]).toBe('in-progress');
    expect(seen.filter((state) => state === 'waiting')).toHaveLength(1);
    expect(seen.at(-1)).toBe('succeeded');
  });

  test('is told of what another process does', async () => {
    shop = await sagaShop();
    const definition = selling(shop.trade);
    const works = await shop.open([definition]);
    const looksOn = await shop.open([definition], { start: false });
    const { id } = await works.submit(definition, order);
    const run = await looksOn.sagaRun(id);
    await sagaReached(run, 'waiting');
    const { seen, told } = follower(run);
    await told('waiting');

    await shop.pass('11m');
    await told('succeeded');

    expect(seen).not.toContain('failed');
    expect(await shop.kept()).toEqual(['authorisation', 'capture']);
  });

  test('is told nothing more when they look no more, and leaves no timer', async () => {
    shop = await sagaShop();
    const definition = selling(shop.trade);
    const orchestrator = await shop.open([definition]);
    const run = await orchestrator.submit(definition, order);
    await sagaReached(run, 'waiting');
    const before = shop.clock.pending();
    const { seen, told, end } = follower(run);
    await told('waiting');

    end();
    const after = shop.clock.pending();
    await shop.pass('11m');

    expect(after).toBe(before);
    expect(seen).toEqual(['waiting']);
    expect(await run.status()).toBe('succeeded');
  });

  test('may throw: that is logged, and they are told on', async () => {
    shop = await sagaShop();
    const logged: string[] = [];
    const nothing = () => {};
    const logger: Logger = { debug: nothing, info: nothing, warn: nothing, error: (_, said) => void logged.push(said) };
    const definition = selling(shop.trade);
    const orchestrator = await shop.open([definition], { logger });
    const run = await orchestrator.submit(definition, order);
    const seen: string[] = [];
    run.follow((status) => {
      seen.push(status);
      throw new Error('the page is gone');
    });
    await sagaReached(run, 'waiting');

    await shop.pass('11m');
    await until(() => (seen.includes('succeeded') ? true : null), 'to be told succeeded');

    expect(new Set(logged)).toEqual(new Set(['who follows a run threw']));
  });
});

test('who follows an operation is told of its states', async () => {
  shop = await sagaShop();
  const { authorise } = shop.trade;
  const orchestrator = await shop.open([authorise]);
  shop.hold('authorisation');
  const run = await orchestrator.submit(authorise, order);
  const { seen, told } = follower(run);
  await told('in-progress');

  shop.letGo('authorisation');
  await told('succeeded');

  expect(seen).toEqual(['in-progress', 'succeeded']);
});
