/**
 * The rules by which turns share statements, on a scripted server and a clock that only tests move: who travels with
 * whom, what happens to the others when one is refused or meets a lock, and that nobody is carried twice or left behind.
 */

import { beforeEach, describe, expect, test } from 'vitest';
import { isSagacityError } from 'sagacity';
import { type OperationRef, type Receipt, testClock, type TestClock, type Turn } from 'sagacity/testing';
import { storeFault, unanswered } from '../../src/adapters/postgres/faults.ts';
import { groupCommit } from '../../src/adapters/postgres/group-commit.ts';
import { keysOfTurn } from '../../src/adapters/postgres/turn.ts';
import { keyOf } from '../../src/ports/store.ts';
import { birth, fresh, move } from './turns.ts';

const DEADLINE_MS = 10_000;
/** A try that is under way is not cut short. */
const TRY_MS = 500;
const STATEMENT_MS = 2;

interface Statement {
  readonly turns: readonly Turn[];
  readonly lockTimeoutMs: number;
  readonly sentAt: number;
}

/** What a server would do with the statements that reach it. */
interface ScriptedServer {
  readonly statements: readonly Statement[];
  /** The turns that were written, in order. */
  readonly written: readonly Turn[];
  /** The most statements at once, and whether any two at once, or one alone, had an operation or identity in common. */
  readonly together: { readonly most: number; readonly met: boolean };
  /** Operations whose rows somebody else holds. */
  readonly held: Set<string>;
  /** Turns that a constraint forbids, by id. */
  readonly forbidden: Set<string>;
  /** What the next statements end with instead of being carried out. */
  readonly troubles: Error[];
  readonly apply: (turns: readonly Turn[], lockTimeoutMs: number) => Promise<ReadonlyMap<string, Receipt>>;
}

function scriptedServer(clock: TestClock): ScriptedServer {
  const statements: Statement[] = [];
  const written: Turn[] = [];
  const together = { most: 0, met: false };
  const under = new Set<readonly Turn[]>();
  const held = new Set<string>();
  const forbidden = new Set<string>();
  const troubles: Error[] = [];
  const passed = (ms: number) => new Promise<void>((resume) => void clock.after(ms, resume));
  const carriedOut = async (turns: readonly Turn[], lockTimeoutMs: number) => {
    const trouble = troubles.shift();
    if (trouble !== undefined) {
      await passed(STATEMENT_MS);
      throw trouble;
    }
    if (turns.some((turn) => held.has(keyOf(turn)))) {
      await passed(lockTimeoutMs);
      throw fault('55P03');
    }
    await passed(STATEMENT_MS);
    if (turns.some(({ turn }) => forbidden.has(turn))) throw fault('23502');
    written.push(...turns);
    return new Map(turns.map(({ turn }) => [turn, receipt]));
  };
  return {
    ...{ statements, written, together, held, forbidden, troubles },
    async apply(turns, lockTimeoutMs) {
      statements.push({ turns, lockTimeoutMs, sentAt: clock.monotonic() });
      under.add(turns);
      const touched = [...under].flat().flatMap(touchedBy);
      together.most = Math.max(together.most, under.size);
      together.met ||= new Set(touched).size < touched.length;
      try {
        return await carriedOut(turns, lockTimeoutMs);
      } finally {
        under.delete(turns);
      }
    },
  };
}

function touchedBy({ tenant, id, birth: born }: Turn): readonly string[] {
  return born === null ? [keyOf({ tenant, id })] : [keyOf({ tenant, id }), `${tenant} ${born.action} ${born.key}`];
}

const receipt: Receipt = {
  revision: 1,
  now: 0,
  since: 0,
  dueAt: null,
  firstStartedAt: null,
  sendBy: null,
  windowEndsAt: null,
};

/** A refusal of the server, as the store throws it. */
function fault(code: string): Error {
  return storeFault(Object.assign(new Error(code), { code, severity: 'ERROR' }), 'write');
}

let clock: TestClock;
let server: ScriptedServer;
let give: (turn: Turn) => Promise<Receipt | null>;

beforeEach(() => {
  clock = testClock();
  server = scriptedServer(clock);
  give = groupCommit({
    apply: server.apply,
    keysOf: keysOfTurn,
    clock,
    chance: () => 1,
    patienceMs: DEADLINE_MS,
    slowMax: 2,
  });
});

/** A turn on its way, and how it ended: `null` while it has not. */
interface Given {
  readonly turn: Turn;
  end: 'written' | 'not written' | 'refused' | 'STORE_UNAVAILABLE' | 'STORE_IN_DOUBT' | null;
  endedAt: number | null;
}

function given(turn: Turn): Given {
  const one: Given = { turn, end: null, endedAt: null };
  const ended = (end: Given['end']) => {
    one.end = end;
    one.endedAt = clock.monotonic();
  };
  give(turn).then(
    (receiptOrNull) => ended(receiptOrNull === null ? 'not written' : 'written'),
    (error: unknown) => {
      const code = isSagacityError(error) ? error.code : null;
      ended(code === 'STORE_UNAVAILABLE' || code === 'STORE_IN_DOUBT' ? code : 'refused');
    },
  );
  return one;
}

function births(count: number): Turn[] {
  return Array.from({ length: count }, () => birth('shop'));
}

function nth(ref: OperationRef, revision: number): Turn {
  return move(ref, { owner: 'w1', generation: 1, revision });
}

const ends = (all: readonly Given[]) => new Set(all.map(({ end }) => end));
const sizes = () => server.statements.map(({ turns }) => turns.length);
const timesWritten = (turn: Turn) => server.written.filter((each) => each === turn).length;

describe('turns of different operations', () => {
  test('share one statement when they are given in the same moment', async () => {
    const all = births(100).map(given);

    await clock.advance(STATEMENT_MS);

    expect(sizes()).toEqual([100]);
    expect(ends(all)).toEqual(new Set(['written']));
  });

  test('are at most 128 in a statement, and in at most two statements at once', async () => {
    const all = births(1_000).map(given);

    await clock.advance(100);

    expect(ends(all)).toEqual(new Set(['written']));
    expect(sizes()).toEqual([...Array.from({ length: 7 }, () => 128), 1_000 - 7 * 128]);
    expect(server.together).toEqual({ most: 2, met: false });
    expect(server.written).toHaveLength(1_000);
  });

  test('that arrive while two statements are under way share the next one', async () => {
    const first = births(1).map(given);
    await clock.advance(0);
    const second = births(1).map(given);
    await clock.advance(0);
    const third = births(50).map(given);

    await clock.advance(2 * STATEMENT_MS);

    expect(sizes()).toEqual([1, 1, 50]);
    expect(ends([...first, ...second, ...third])).toEqual(new Set(['written']));
  });
});

describe('turns of one operation', () => {
  test('are carried one after the other in the order in which they were given', async () => {
    const refs = births(30);
    const turns = refs.flatMap((ref) => [1, 2, 3, 4].map((revision) => nth(ref, revision)));
    const all = turns.map(given);

    await clock.advance(100);

    expect(ends(all)).toEqual(new Set(['written']));
    expect(server.together.met).toBe(false);
    for (const { id } of refs) {
      const order = server.written.filter((turn) => turn.id === id).map(({ was }) => was?.revision);
      expect(order).toEqual([1, 2, 3, 4]);
    }
  });

  test('do not overtake each other when only the first one waits for an identity', async () => {
    const elsewhere = given(birth('shop', { key: 'order-1' }));
    await clock.advance(0);
    const born = birth('shop', { key: 'order-1' });
    const first = given(born);
    const second = given(nth(born, 1));

    await clock.advance(100);

    expect(ends([elsewhere, first, second])).toEqual(new Set(['written']));
    expect(server.written.filter(({ id }) => id === born.id)).toEqual([first.turn, second.turn]);
  });
});

describe('births of one identity', () => {
  test('are never in one statement, nor in two at once', async () => {
    const all = Array.from({ length: 20 }, () => given(birth('shop', { key: 'order-1' })));

    await clock.advance(100);

    expect(ends(all)).toEqual(new Set(['written']));
    expect(sizes()).toEqual(all.map(() => 1));
    expect(server.together.met).toBe(false);
  });

  test('are taken for one only within a tenant and an action', async () => {
    const [one, other] = [birth('shop', { key: 'order-1' }), birth('other shop', { key: 'order-1' })];
    const third = birth('shop', { key: 'order-1' });
    const born = third.birth === null ? null : { ...third.birth, action: 'label.buy' };
    const all = [one, other, { ...third, birth: born }].map(given);

    await clock.advance(100);

    expect(ends(all)).toEqual(new Set(['written']));
    expect(sizes()).toEqual([3]);
  });
});

describe('a statement that the server refuses because of some of its turns', () => {
  test.each([[[0]], [[1]], [[63]], [[64]], [[127]], [[0, 127]], [[5, 6, 7]]])(
    'writes all of them but %j once, and rejects those',
    async (bad) => {
      const all = births(128).map(given);
      const [good, refused] = [all.filter((_, n) => !bad.includes(n)), all.filter((_, n) => bad.includes(n))];
      for (const { turn } of refused) server.forbidden.add(turn.turn);

      await clock.advance(1_000);

      expect(ends(refused)).toEqual(new Set(['refused']));
      expect(ends(good)).toEqual(new Set(['written']));
      expect(good.map(({ turn }) => timesWritten(turn))).toEqual(good.map(() => 1));
      expect(server.written).toHaveLength(good.length);
      expect(server.statements.length).toBeLessThan(16 * bad.length);
    },
  );

  test('leaves the operations free for their next turns', async () => {
    const ref = birth('shop');
    const bad = given(ref);
    server.forbidden.add(ref.turn);
    const others = births(9).map(given);
    const next = given({ ...ref, turn: fresh('turn') });

    await clock.advance(100);

    expect(bad.end).toBe('refused');
    expect(ends([...others, next])).toEqual(new Set(['written']));
  });
});

describe('a turn whose row somebody holds', () => {
  test('keeps the others of its statement for less than half a second', async () => {
    const held = birth('shop');
    server.held.add(keyOf(held));
    const blocked = given(held);
    const others = births(127).map(given);

    await clock.advance(500);

    expect(ends(others)).toEqual(new Set(['written']));
    expect(others.map(({ turn }) => timesWritten(turn))).toEqual(others.map(() => 1));
    expect(blocked.end).toBe(null);
  });

  test('keeps nobody who comes later, and is written when the row is free', async () => {
    const held = birth('shop');
    server.held.add(keyOf(held));
    const blocked = given(held);
    await clock.advance(1_000);
    const later = births(300).map(given);
    await clock.advance(4 * STATEMENT_MS);
    const endsLater = ends(later);
    server.held.clear();

    await clock.advance(2 * TRY_MS);

    expect(endsLater).toEqual(new Set(['written']));
    expect(blocked.end).toBe('written');
    expect(timesWritten(held)).toBe(1);
  });

  test('is tried alone, for longer', async () => {
    const held = birth('shop');
    server.held.add(keyOf(held));
    given(held);

    await clock.advance(2_000);

    expect(sizes()).toEqual([1, 1, 1, 1, 1]);
    expect(server.statements.map(({ lockTimeoutMs }) => lockTimeoutMs)).toEqual([50, 500, 500, 500, 500]);
  });

  test('is given up at its deadline', async () => {
    const held = birth('shop');
    server.held.add(keyOf(held));
    const blocked = given(held);

    await clock.advance(DEADLINE_MS + TRY_MS);

    expect(blocked.end).toBe('STORE_UNAVAILABLE');
    expect(blocked.endedAt).toBeGreaterThanOrEqual(DEADLINE_MS);
    expect(clock.pending()).toBe(0);
  });

  test('holds up the next turn of its operation, which is given up unsent at its deadline', async () => {
    const held = birth('shop');
    server.held.add(keyOf(held));
    given(held);
    const behind = given(nth(held, 1));

    await clock.advance(DEADLINE_MS);
    server.held.clear();
    await clock.advance(DEADLINE_MS);

    expect([behind.end, behind.endedAt]).toEqual(['STORE_UNAVAILABLE', DEADLINE_MS]);
    expect(server.statements.some(({ turns }) => turns.includes(behind.turn))).toBe(false);
  });

  test('lets the next turn of its operation follow when it is written', async () => {
    const held = birth('shop');
    server.held.add(keyOf(held));
    const blocked = given(held);
    const behind = given(nth(held, 1));
    await clock.advance(2_000);
    server.held.clear();

    await clock.advance(1_000);

    expect([blocked.end, behind.end]).toEqual(['written', 'written']);
    expect(server.written).toEqual([blocked.turn, behind.turn]);
  });
});

describe('many turns whose rows somebody holds', () => {
  test('are tried two at a time, and all of them are written when the rows are free', async () => {
    const all = births(20).map((turn) => {
      server.held.add(keyOf(turn));
      return given(turn);
    });
    await clock.advance(3_000);
    server.held.clear();

    await clock.advance(1_000);

    expect(ends(all)).toEqual(new Set(['written']));
    expect(server.together.most).toBeLessThanOrEqual(2 + 2);
    expect(server.written).toHaveLength(20);
  });

  test.each([20, 128, 300])('are given up at their deadline, all %i of them', async (count) => {
    const all = births(count).map((turn) => {
      server.held.add(keyOf(turn));
      return given(turn);
    });

    await clock.advance(DEADLINE_MS + TRY_MS);

    expect(ends(all)).toEqual(new Set(['STORE_UNAVAILABLE']));
  });

  test.each([0, 19, 39, 59])('do not keep one whose row is free again, such as the one at %i', async (n) => {
    const all = births(60).map((turn) => {
      server.held.add(keyOf(turn));
      return given(turn);
    });
    await clock.advance(7_000);
    const freed = all[n];
    if (freed !== undefined) server.held.delete(keyOf(freed.turn));

    await clock.advance(3_000);

    expect(freed?.end).toBe('written');
  });
});

describe('a statement that another one was in the way of', () => {
  test.each(['40001', '40P01'])('is repeated whole after %s, up to five times', async (code) => {
    server.troubles.push(...Array.from({ length: 5 }, () => fault(code)));
    const all = births(40).map(given);

    await clock.advance(1_000);

    expect(ends(all)).toEqual(new Set(['written']));
    expect(sizes()).toEqual([40, 40, 40, 40, 40, 40]);
    expect(server.written).toHaveLength(40);
  });

  test.each(['40001', '40P01'])('rejects all of its turns after the sixth %s', async (code) => {
    server.troubles.push(...Array.from({ length: 6 }, () => fault(code)));
    const all = births(40).map(given);

    await clock.advance(1_000);

    expect(ends(all)).toEqual(new Set(['STORE_UNAVAILABLE']));
    expect(sizes()).toHaveLength(6);
    expect(server.written).toEqual([]);
  });

  test('waits longer before each repetition', async () => {
    server.troubles.push(...Array.from({ length: 5 }, () => fault('40P01')));
    given(birth('shop'));

    await clock.advance(1_000);

    const sent = server.statements.map(({ sentAt }) => sentAt);
    const pauses = sent.slice(1).map((at, n) => at - (sent[n] ?? 0) - STATEMENT_MS);
    expect(pauses).toEqual([20, 40, 60, 80, 100]);
  });
});

describe('a statement that was not answered', () => {
  test('is not repeated: each of its turns is in doubt, and can be given again', async () => {
    server.troubles.push(unanswered('write'));
    const all = births(40).map(given);
    await clock.advance(100);
    const statements = server.statements.length;

    const again = all.map(({ turn }) => given(turn));
    await clock.advance(100);

    expect(statements).toBe(1);
    expect(ends(all)).toEqual(new Set(['STORE_IN_DOUBT']));
    expect(ends(again)).toEqual(new Set(['written']));
    expect(sizes()).toEqual([40, 40]);
  });
});

describe('a server that is out of something', () => {
  test('is not asked again for each turn', async () => {
    server.troubles.push(fault('53300'));
    const all = births(40).map(given);

    await clock.advance(100);

    expect(ends(all)).toEqual(new Set(['STORE_UNAVAILABLE']));
    expect(sizes()).toEqual([40]);
  });
});

describe('a turn whose patience ends while the clock is being looked at', () => {
  test.each(Array.from({ length: 40 }, (_, n) => n + 1))('is settled all the same, at look %i', async (patienceMs) => {
    let looks = 0;
    const looking = { ...clock, monotonic: () => (looks += 1) };
    const apply = () => Promise.resolve(new Map<string, Receipt>());
    const hasty = groupCommit({ apply, keysOf: keysOfTurn, clock: looking, chance: () => 1, patienceMs, slowMax: 2 });

    const ends = await Promise.allSettled(Array.from({ length: 5 }, () => hasty(birth('shop'))));

    expect(ends).toHaveLength(5);
  });
});

describe('turns that have ended', () => {
  test('leave no timer behind', async () => {
    births(300).map(given);

    await clock.advance(100);

    expect(clock.pending()).toBe(0);
  });
});
