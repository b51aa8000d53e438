import {
  createOrchestrator,
  type Logger,
  operation,
  type Outcome,
  type Store,
  succeeded,
  typed,
  unknown,
} from 'sagacity';
import { memoryStore, testClock } from 'sagacity/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { storeInDoubt, storeUnavailable } from '../../src/domain/errors.ts';
import type { OperationRow, Turn } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { evenChance } from '../support/chance.ts';
import { until } from '../support/world.ts';

interface Order {
  orderId: string;
  amount: number;
}

/** The provider's books: what each request that reached it said. */
let effects: Order[];
let clock: ReturnType<typeof testClock>;
let memory: Store;
const running: { stop(): Promise<void> }[] = [];

beforeEach(() => {
  effects = [];
  clock = testClock();
  memory = memoryStore({ clock });
});

afterEach(async () => {
  const stopping = Promise.all(running.splice(0).map((each) => each.stop()));
  await clock.advance('15s');
  await stopping;
});

type Execute = (input: Order, signal: AbortSignal, attempt: number) => Outcome | Promise<Outcome>;

function take(input: Order): Outcome {
  effects.push({ ...input });
  return succeeded({ taken: input.amount }, { reference: `${input.orderId}-${effects.length}` });
}

function charging(execute: Execute = take) {
  return operation('card.charge', {
    input: typed<Order>(),
    key: ({ input }) => input.orderId,
    execute: ({ input, abortSignal, attempt }) => execute(input, abortSignal, attempt),
    keyRetention: '24h',
    lookup: 'none',
    timeout: '10s',
    retry: { attempts: 3, backoff: 'fixed', delay: '1s', jitter: 'none' },
  });
}

function orchestrating(
  definition: ReturnType<typeof charging>,
  store: Store = memory,
  options: { logger?: Logger; heartbeat?: { every: '1s'; timeout: '3s' } } = {},
) {
  const orchestrator = createOrchestrator({
    ...{ store, clock, random: evenChance(), definitions: [definition], tenant: 'shop' },
    ...options,
  });
  running.push(orchestrator);
  return orchestrator;
}

async function rowOf(orderId: string): Promise<OperationRow | null> {
  return memory.readByIdentity({ tenant: 'shop', action: 'card.charge', key: orderId });
}

async function states(...orderIds: string[]): Promise<unknown[]> {
  return Promise.all(orderIds.map(async (orderId) => (await rowOf(orderId))?.state));
}

describe('a caller or an executor that goes on changing the input', () => {
  test('changes nothing of what is sent', async () => {
    const definition = charging((input, _signal, attempt) => {
      const sent = take(input);
      input.amount += 1_000;
      return attempt === 1 ? unknown('the reply was lost') : sent;
    });
    const orchestrator = orchestrating(definition);
    await orchestrator.start();
    const order = { orderId: 'order-1', amount: 100 };

    const submitting = orchestrator.submit(definition, order);
    order.amount = 99_999;
    await submitting;
    order.amount = 77_777;
    await clock.advance('3s');

    expect(await states('order-1')).toEqual(['succeeded']);
    expect(effects.map(({ amount }) => amount)).toEqual([100, 100]);
  });
});

describe('a row that this version cannot read', () => {
  const unreadable = { $: ['from-the-future', 1] };

  test.each(['snapshot', 'input'] as const)(
    'in its %s is left to a process that can, and keeps nothing else from being done',
    async (part) => {
      const definition = charging();
      const callers = orchestrating(definition);
      for (const orderId of ['a', 'b', 'c', 'd']) await callers.submit(definition, { orderId, amount: 1 });
      const said: string[] = [];
      const logger = { debug() {}, info() {}, warn() {}, error: (_facts: object, text: string) => said.push(text) };
      const whole = (await rowOf('b'))?.snapshot ?? null;
      const older = overlay(memory, {
        async claim(...asked) {
          const rows = await memory.claim(...asked);
          return rows.map((row) => (row.key === 'b' ? { ...row, [part]: unreadable } : row));
        },
        // It writes back what it read; in the store that is what the other version wrote.
        turn: async (turn) => memory.turn(turn.snapshot === unreadable ? { ...turn, snapshot: whole } : turn),
      });
      const old = orchestrating(definition, older, { logger });
      await old.start();
      await clock.advance('5s');
      const [unread, meanwhile] = [await rowOf('b'), await states('a', 'b', 'c', 'd')];

      await old.stop();
      await orchestrating(definition).start();
      await clock.advance('90s');

      expect(meanwhile).toEqual(['succeeded', 'pending', 'succeeded', 'succeeded']);
      expect(unread).toMatchObject({ owner: null, firstStartedAt: null });
      expect(said).toEqual(['operation cannot be read by this version']);
      expect(await states('b')).toEqual(['succeeded']);
      expect(effects.filter(({ orderId }) => orderId === 'b')).toHaveLength(1);
    },
  );
});

describe('a claim whose reply was lost, in a store that then fails for a while', () => {
  test('leaves nothing owned by a worker that does not know of it', async () => {
    const definition = charging();
    await orchestrating(definition).submit(definition, { orderId: 'order-1', amount: 1 });
    let failing = true;
    const store = overlay(memory, {
      async claim(...asked) {
        const rows = await memory.claim(...asked);
        if (failing && rows.length > 0) throw storeInDoubt('The claim.');
        return rows;
      },
      retire: async (worker) =>
        failing ? Promise.reject(storeUnavailable('The store', 'is away.')) : memory.retire(worker),
      enlist: async (worker) =>
        failing && (await rowOf('order-1'))?.owner
          ? Promise.reject(storeUnavailable('The store', 'is away.'))
          : memory.enlist(worker),
    });
    const worker = orchestrating(definition, store);

    await worker.start();
    await clock.advance('4s');
    failing = false;
    await clock.advance('40s');

    expect(await states('order-1')).toEqual(['succeeded']);
    expect(effects).toHaveLength(1);
  });
});

describe('a proven result that the store refuses for a reason that does not pass', () => {
  test('is kept as evidence and settles the operation', async () => {
    const definition = charging();
    let refusals = 1;
    const store = overlay(memory, {
      async turn(turn: Turn) {
        if (turn.records.some(({ kind }) => kind === 'end') && refusals-- > 0) throw new Error('permission denied');
        return memory.turn(turn);
      },
    });
    const orchestrator = orchestrating(definition, store);
    await orchestrator.start();

    await orchestrator.submit(definition, { orderId: 'order-1', amount: 1 });
    await clock.advance('10s');

    expect(await states('order-1')).toEqual(['succeeded']);
    expect(effects).toHaveLength(1);
  });
});

describe('a worker that cannot renew its row', () => {
  test('records no start that it could not send', async () => {
    const definition = charging();
    let deaf = false;
    const store = overlay(memory, {
      renew: async (...asked) =>
        deaf ? Promise.reject(storeUnavailable('The store', 'is away.')) : memory.renew(...asked),
    });
    const orchestrator = orchestrating(definition, store, { heartbeat: { every: '1s', timeout: '3s' } });
    await orchestrator.start();

    deaf = true;
    await clock.advance('5s');
    await orchestrator.submit(definition, { orderId: 'order-1', amount: 1 });
    await clock.advance('30s');
    const meanwhile = await rowOf('order-1');
    deaf = false;
    await clock.advance('10s');

    expect(meanwhile).toMatchObject({ state: 'pending', firstStartedAt: null });
    expect(await states('order-1')).toEqual(['succeeded']);
  });
});

describe('a stop', () => {
  test('whose duration cannot be read changes nothing', async () => {
    const definition = charging();
    const orchestrator = orchestrating(definition);
    await orchestrator.start();

    // What a caller without a compiler may write.
    await expect(orchestrator.stop({ within: 'soon' as '1s' })).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });
    await orchestrator.submit(definition, { orderId: 'order-1', amount: 1 });
    await clock.advance('1s');

    expect(await states('order-1')).toEqual(['succeeded']);
  });
});

describe('whoever waits for a result when the orchestrator stops', () => {
  test('is told where the operation stands, and waits no longer', async () => {
    const definition = charging(() => new Promise<Outcome>(() => {}));
    const orchestrator = orchestrating(definition);
    await orchestrator.start();
    const run = await orchestrator.submit(definition, { orderId: 'order-1', amount: 1 });

    const waiting = run.result({ within: '1h' });
    const stopping = orchestrator.stop({ within: '1s' });
    await clock.advance('5s');
    await stopping;

    expect((await waiting).status).toBe('in-progress');
    expect(clock.pending()).toBe(0);
  });
});

describe('an attempt that is running when its operation is settled from elsewhere', () => {
  test('is aborted, so that it sends nothing more', async () => {
    const aborted: number[] = [];
    const late: (() => void)[] = [];
    const definition = charging(async (input, signal, attempt) => {
      if (attempt === 1) await new Promise<void>((resume) => late.push(resume));
      else await new Promise<void>((resume) => signal.addEventListener('abort', () => resume()));
      if (attempt > 1) aborted.push(attempt);
      return attempt === 1 ? take(input) : unknown('aborted');
    });
    const orchestrator = orchestrating(definition);
    await orchestrator.start();
    const run = await orchestrator.submit(definition, { orderId: 'order-1', amount: 1 });
    await clock.advance('13s');

    late[0]?.();
    await until(async () => ((await run.status()) === 'succeeded' ? true : null), 'the late result to settle it');

    expect(aborted).toEqual([2]);
    expect(effects).toHaveLength(1);
  });
});

describe('a logger that throws', () => {
  test('stops nothing', async () => {
    const definition = charging();
    const broken = () => {
      throw new Error('the disk is full');
    };
    const orchestrator = orchestrating(
      definition,
      overlay(memory, { handedOver: () => Promise.reject(new Error('odd')) }),
      {
        logger: { debug: broken, info: broken, warn: broken, error: broken },
      },
    );
    await orchestrator.start();

    await orchestrator.submit(definition, { orderId: 'order-1', amount: 1 });
    await clock.advance('3s');

    expect(await states('order-1')).toEqual(['succeeded']);
  });
});

describe('a decision in a store that takes no writes', () => {
  test('is refused with the error of the store when its time is over', async () => {
    const definition = charging();
    const store = overlay(memory, { handOver: () => Promise.reject(storeUnavailable('The store', 'is read-only.')) });
    const orchestrator = orchestrating(definition, store);
    await orchestrator.start();
    const run = await orchestrator.submit(definition, { orderId: 'order-1', amount: 1 });

    const cancelling = orchestrator.cancel(run.id, { by: 'shop', reason: 'ordered twice', within: '1s' });
    const refused = cancelling.catch((error: unknown) => error);
    await clock.advance('5s');

    expect(await refused).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
  });
});

describe('a person who goes on changing a decision', () => {
  test('changes nothing of what was decided', async () => {
    const definition = charging(() => unknown('the reply was lost'));
    const orchestrator = orchestrating(definition);
    await orchestrator.start();
    const run = await orchestrator.submit(definition, { orderId: 'order-1', amount: 1 });
    await clock.advance('20s');
    const [doubt] = await orchestrator.operator.doubts();
    const output = { taken: 1 };
    const decision = { by: 'on-call', evidence: 'record ch_1', seen: doubt?.seen ?? '' };

    const deciding = orchestrator.operator.resolve(run.id, succeeded(output), decision);
    output.taken = 999;
    decision.by = 'somebody else';
    await deciding;

    expect(await run.result({ within: 0 })).toEqual({ status: 'succeeded', output: { taken: 1 } });
    expect((await run.history()).at(-1)?.facts).toMatchObject({ by: 'on-call' });
  });
});

describe('a birth whose reply comes when its worker is over, and another one of the same process has taken it up', () => {
  test('does not take the operation out of the hands of that', async () => {
    let isOver = false;
    let [tellBirth, tellEnd] = [() => {}, () => {}];
    const ofBirth = new Promise<void>((resolve) => (tellBirth = resolve));
    const ofEnd = new Promise<void>((resolve) => (tellEnd = resolve));
    let isEndWritten = false;
    const store = overlay(memory, {
      async renew(...given) {
        return !isOver && (await memory.renew(...given));
      },
      async turn(turn) {
        const receipt = await memory.turn(turn);
        if (turn.birth !== null) await ofBirth;
        if (turn.records.some(({ kind }) => kind === 'end') && !isEndWritten) {
          isEndWritten = true;
          await ofEnd;
        }
        return receipt;
      },
    });
    const definition = charging();
    const orchestrator = orchestrating(definition, store);
    await orchestrator.start();
    const submitting = orchestrator.submit(definition, { orderId: 'order-17', amount: 5 });
    await clock.advance('1s');
    isOver = true;
    await clock.advance('5s');
    isOver = false;
    await clock.advance('2s');
    const whileItWaits = { isEndWritten, sent: effects.length };

    tellBirth();
    await submitting;
    await clock.advance(0);
    tellEnd();
    await clock.advance('1m');

    expect(whileItWaits).toEqual({ isEndWritten: true, sent: 0 });
    expect(await states('order-17')).toEqual(['succeeded']);
    expect(effects).toEqual([{ orderId: 'order-17', amount: 5 }]);
  });
});

describe('a worker two of whose heartbeats fell into an outage', () => {
  test('is heard again as soon as that is over, and goes on beginning things', async () => {
    let isAway = false;
    const store = overlay(memory, {
      async renew(...given) {
        if (isAway) throw storeUnavailable('No connection.', 'Try again.');
        return await memory.renew(...given);
      },
    });
    const definition = charging();
    const orchestrator = orchestrating(definition, store);
    await orchestrator.start();

    await clock.advance('4s');
    isAway = true;
    await clock.advance('7s');
    isAway = false;
    await clock.advance('2s');
    await orchestrator.submit(definition, { orderId: 'order-17', amount: 5 });
    await clock.advance(0);

    expect(effects).toEqual([{ orderId: 'order-17', amount: 5 }]);
  });
});

describe('a worker that gives up its id while its heartbeat is on its way', () => {
  test('goes on under one other id, and keeps what it takes up under that', async () => {
    const definition = charging();
    await orchestrating(definition).submit(definition, { orderId: 'order-1', amount: 1 });
    const enlisted: string[] = [];
    const slow = (ms: number) => new Promise<void>((resume) => clock.after(ms, resume));
    let lost = 1;
    const store = overlay(memory, {
      async claim(...asked) {
        const rows = await memory.claim(...asked);
        if (rows.length > 0 && lost-- > 0) throw storeInDoubt('The claim.');
        return rows;
      },
      async enlist(worker) {
        if (enlisted.length > 0) await slow(2_500);
        enlisted.push(worker);
        return memory.enlist(worker);
      },
      async renew(...asked) {
        await slow(700);
        return memory.renew(...asked);
      },
    });
    const orchestrator = orchestrating(definition, store, { heartbeat: { every: '1s', timeout: '3s' } });

    const starting = orchestrator.start();
    await clock.advance('30s');
    await starting;

    expect(await states('order-1')).toEqual(['succeeded']);
    expect(enlisted).toHaveLength(2);
    expect(effects).toHaveLength(1);
  });
});

describe('a start that is recorded while the orchestrator gives up waiting', () => {
  test('is not sent', async () => {
    const definition = charging();
    const store = overlay(memory, {
      async turn(turn: Turn) {
        const receipt = await memory.turn(turn);
        if (turn.birth !== null) await new Promise<void>((resume) => clock.after(1_100, resume));
        return receipt;
      },
    });
    const orchestrator = orchestrating(definition, store);
    await orchestrator.start();

    const submitting = orchestrator.submit(definition, { orderId: 'order-1', amount: 1 });
    await clock.advance(0);
    const stopping = orchestrator.stop({ within: '1s' });
    await clock.advance('5s');
    await Promise.all([submitting, stopping]);

    expect(effects).toHaveLength(0);
    const next = orchestrating(definition);
    await next.start();
    await clock.advance('10s');
    expect(await states('order-1')).toEqual(['succeeded']);
    expect(effects).toHaveLength(1);
  });
});

describe('a submission whose reply from the store was lost, and whose operation has moved on since', () => {
  test('knows that it created it', async () => {
    const definition = charging();
    const worker = orchestrating(definition);
    await worker.start();
    let lost = 1;
    const callers = orchestrating(
      definition,
      overlay(memory, {
        async turn(turn: Turn) {
          const receipt = await memory.turn(turn);
          if (lost-- <= 0) return receipt;
          await clock.advance('2s');
          throw storeInDoubt('The birth.');
        },
      }),
    );

    let run: { readonly submission: string } | null = null;
    void callers.submit(definition, { orderId: 'order-1', amount: 1 }).then((made) => {
      run = made;
    });
    await until(async () => {
      await clock.advance('1s');
      return run;
    }, 'the submission to be answered');

    expect(await states('order-1')).toEqual(['succeeded']);
    expect(run).toMatchObject({ submission: 'new' });
    expect(effects).toHaveLength(1);
  });
});
