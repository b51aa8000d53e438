import { afterEach, describe, expect, test } from 'vitest';
import {
  absent,
  type AttemptContext,
  createOrchestrator,
  found,
  operation,
  type Orchestrator,
  type Run,
  succeeded,
  typed,
} from 'sagacity';
import { type Contract, contract, type ContractOptions } from 'sagacity/providers';
import { memoryStore, scriptedProvider, testClock, type TestClock } from 'sagacity/testing';
import type { AnyOperation } from '../../src/orchestrator/orchestrator.ts';
import type { Store } from '../../src/ports/store.ts';
import { company } from '../providers/company.ts';
import { evenChance } from '../support/chance.ts';
import type { Payment } from '../support/shop.ts';
import { reached, until } from '../support/world.ts';

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close();
});

/** What the card company promises, as two releases of a service have it. */
function charges(version: '1' | '2'): Contract {
  return contract({
    ...{ name: 'cards/charges', version, docs: 'https://cards.example/docs', verified: 'unverified' },
    key: { in: 'header', name: version === '1' ? 'Idempotency-Key' : 'X-Request-Key' },
    keyRetention: '24h',
    sameKey: {
      ...{ afterSuccess: 'first-reply', whileRunning: 'unsaid', afterRefusal: 'unsaid' },
      ...{ afterServerError: 'resumes', otherParameters: 'unsaid' },
    },
    lookup: { by: 'key', visibleWithin: '1s' },
    replies: version === '1' ? [] : [{ status: 402, proves: 'not-done' }],
  });
}

function charging(version: '1' | '2', look: 'asked' | 'none') {
  return operation('card.charge', {
    input: typed<Payment>(),
    key: ({ input }) => input.orderId,
    execute: ({ input, http }) => http.send({ url: '/payments', json: input }, ({ body }) => succeeded(body)),
    ...{ provider: 'cards', contract: charges(version) },
    lookup:
      look === 'none'
        ? 'none'
        : {
            find: ({ http, idempotencyKey }) =>
              http.ask({ url: `/payments/by-idempotency-key/${idempotencyKey}` }, ({ status, body }) =>
                status === 404 ? absent() : found(succeeded(body)),
              ),
          },
    retry: { attempts: 2, backoff: 'fixed', delay: '1s', jitter: 'none' },
  });
}

/** One release of the service after the other, on one store. */
async function releases(look: 'asked' | 'none') {
  const provider = await scriptedProvider();
  const clock = testClock();
  const store = memoryStore({ clock });
  closings.push(() => provider.close());
  const release = async (version: '1' | '2') => {
    const definition = charging(version, look);
    const orchestrator = createOrchestrator({
      ...{ store, clock, random: evenChance(), definitions: [definition], tenant: 'shop-1' },
      providers: { cards: { url: provider.url } },
    });
    await orchestrator.start();
    closings.push(() => orchestrator.stop({ within: 0 }));
    const submit = () => orchestrator.submit(definition, { orderId: 'order-17', amount: 1200 });
    return { orchestrator, submit };
  };
  const ended = async (orchestrator: Orchestrator<true>, id: string) => {
    const run = await orchestrator.run(id);
    await until(async () => {
      if (['succeeded', 'failed', 'escalated'].includes(await run.status())) return true;
      await clock.advance('200ms');
      return null;
    }, 'the charge to end');
    return run as Run<unknown, string>;
  };
  const sentByOneAndEndedByTheNext = async () => {
    const before = await release('1');
    const { id } = await before.submit();
    await provider.logged(({ event }) => event === 'DROPPED');
    const stopping = before.orchestrator.stop({ within: 0 });
    await clock.advance('2s');
    await stopping;
    const after = await release('2');
    return await ended(after.orchestrator, id);
  };
  return { provider, release, sentByOneAndEndedByTheNext };
}

describe('a charge that was sent by a release with another contract', () => {
  test('goes on with the one that it was made under: its key goes where it went, and its replies prove what they did', async () => {
    const { provider, sentByOneAndEndedByTheNext } = await releases('none');
    await provider.calls(['drop', 'decline']);

    const run = await sentByOneAndEndedByTheNext();

    // A refusal speaks for its own send only: what the first one did is not known, and nobody can be asked.
    expect(await run.status()).toBe('escalated');
    const keys = (await provider.received()).map(({ key }) => key);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect((await run.history()).map(({ facts }) => facts)).toContainEqual(
      expect.objectContaining({ outcome: 'failed', reply: expect.objectContaining({ contract: 'cards/charges 1' }) }),
    );
  });

  test('is looked up when that said so, and found', async () => {
    const { provider, sentByOneAndEndedByTheNext } = await releases('asked');
    await provider.calls(['do+drop']);

    const run = await sentByOneAndEndedByTheNext();

    expect(await run.status()).toBe('succeeded');
    expect(await provider.records()).toHaveLength(1);
    expect((await provider.received()).filter(({ method }) => method === 'POST')).toHaveLength(1);
  });
});

describe('a charge that is submitted to the later release', () => {
  test('is made under its contract', async () => {
    const { provider, release } = await releases('none');
    const { submit } = await release('2');

    const run = await submit();
    await reached(run, 'in-progress', 'failed', 'succeeded');

    const asked = await until(async () => (await provider.received())[0] ?? null, 'the request to arrive');
    expect(asked.key).toBeNull();
  });
});

describe('a provider that wants to know when something was first sent', () => {
  const tracking = {
    ...{ name: 'post/mails', version: '1', docs: 'https://post.example/docs', verified: 'unverified' },
    key: { in: 'header', name: 'Request-Key', firstSentHeader: 'First-Sent' },
    sameKey: {
      ...{ afterSuccess: 'first-reply', whileRunning: 'unsaid', afterRefusal: 'unsaid' },
      ...{ afterServerError: 'resumes', otherParameters: 'unsaid' },
    },
  } as const satisfies Partial<ContractOptions>;

  /** It tears every connection down, and keeps what was said of the first time. */
  async function tornDown() {
    const told: (string | undefined)[] = [];
    const at = await company((response, { headers }) => {
      told.push(headers['first-sent']?.toString());
      response.destroy();
    });
    closings.push(() => at.close());
    const mail = {
      input: typed<Payment>(),
      key: ({ input }: { readonly input: Payment }) => input.orderId,
      execute: ({ input, http }: AttemptContext<Payment>) =>
        http.send({ url: at.url, json: input }, ({ body }) => succeeded(body)),
    };
    return { told, mail };
  }

  async function serving<Mail extends AnyOperation>(mail: Mail, store: Store, clock: TestClock) {
    const orchestrator = createOrchestrator({
      ...{ store, clock, random: evenChance(), definitions: [mail], tenant: 'shop-1' },
    });
    await orchestrator.start();
    closings.push(() => orchestrator.stop({ within: 0 }));
    return orchestrator;
  }

  test('is not told a time which it would not take any more, once what was sent at that is proven absent', async () => {
    const clock = testClock();
    const { told, mail } = await tornDown();
    const definition = operation('mail.send', {
      ...mail,
      contract: contract({
        ...{ ...tracking, keyRetention: '5m' },
        lookup: { by: 'reference', visibleWithin: '10s', arrivalLimit: '10m' },
      }),
      lookup: { find: () => absent() },
      retry: { attempts: 2, backoff: 'fixed', delay: '1s', maxDelay: '1s', jitter: 'none' },
    });
    const orchestrator = await serving(definition, memoryStore({ clock }), clock);

    await orchestrator.submit(definition, { orderId: 'order-17', amount: 1200 });
    await until(async () => {
      await clock.advance('5s');
      return told.length === 2 ? clock.now() : null;
    }, 'the mail to be sent once more');

    const [first, second] = told.map((time) => Date.parse(time ?? ''));
    expect(first).toBe(Date.UTC(2026, 0, 1));
    expect(second).toBeGreaterThan(Date.UTC(2026, 0, 1, 0, 10));
    expect(second).toBeLessThanOrEqual(clock.now());
  });

  test('is told the same each time it is sent to, also after a restart', async () => {
    const clock = testClock();
    const store = memoryStore({ clock });
    const { told, mail } = await tornDown();
    const definition = operation('mail.send', {
      ...mail,
      contract: contract({ ...tracking, keyRetention: '24h', lookup: 'none' }),
      lookup: 'none',
      retry: { attempts: 3, backoff: 'fixed', delay: '1m', maxDelay: '1m', jitter: 'none' },
    });
    const first = await serving(definition, store, clock);
    const { id } = await first.submit(definition, { orderId: 'order-17', amount: 1200 });
    await until(() => (told.length === 1 ? true : null), 'the first request');
    const stopping = first.stop({ within: 0 });
    await clock.advance('2s');
    await stopping;

    const second = await serving(definition, store, clock);
    await until(async () => {
      await clock.advance('10s');
      return (await (await second.run(id)).status()) === 'escalated' ? true : null;
    }, 'the mail to have used up its attempts');

    expect(told).toHaveLength(3);
    expect(new Set(told)).toEqual(new Set(['Thu, 01 Jan 2026 00:00:00 GMT']));
  });
});
