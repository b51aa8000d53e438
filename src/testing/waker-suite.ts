/**
 * The promises of the waker port as tests that every adapter passes, ours and yours. The port's comments are the
 * authority; each test here holds an adapter to one of them. The suite brings no test runner: hand it the functions of
 * yours. Each test has wakers and databases of its own. Time passes as the adapter's clock has it: nothing is measured
 * but that a wake is not early, and that it comes.
 */

import type { OperationRef } from '../ports/store.ts';
import type { Told, Wake, Waker } from '../ports/waker.ts';
import { fresh } from './store-turns.ts';
import type { TestApi } from './store-under-test.ts';

/** What makes wakers to be tested, and the time by which they wake. */
export interface WakersUnderTest {
  /** The waker of another process on the database that `ledger` names: ready to tell, and not started. */
  make(ledger: string): Promise<Waker>;
  /** Lets so much time pass. */
  passes(ms: number): Promise<void>;
  /** The time that has passed, in milliseconds from anywhere. */
  now(): number;
  /** Removes what was made for the tests, after the wakers have been stopped and closed. */
  dispose(): Promise<void>;
}

/**
 * Declares the conformance tests of a waker; those of `tell` and `watch` only for one that reaches other processes.
 *
 * @example
 * import { afterAll, beforeAll, describe, expect, test } from 'vitest';
 * wakerSuite({ name: 'mine', reachesOthers: true, make: makeMine }, { afterAll, beforeAll, describe, expect, test });
 */
export function wakerSuite(
  subject: {
    readonly name: string;
    readonly reachesOthers: boolean;
    readonly make: () => Promise<WakersUnderTest>;
  },
  api: TestApi,
): void {
  const { describe, test, beforeAll, afterAll, expect } = api;
  let made: WakersUnderTest | undefined;
  const all: Waker[] = [];

  const under = (): WakersUnderTest => {
    if (made === undefined) throw new Error('The wakers of the suite were not made.');
    return made;
  };
  const silent = async (ledger = fresh('ledger')): Promise<Waker> => {
    const waker = await under().make(ledger);
    all.push(waker);
    return waker;
  };
  /** A waker that is started, and what came to it. */
  const listening = async (ledger = fresh('ledger'), onWake: (wake: Wake) => void | Promise<void> = () => {}) => {
    const waker = await silent(ledger);
    const woken: Wake[] = [];
    const times: number[] = [];
    const news: Told[] = [];
    const begin = () =>
      waker.start(
        async (wake) => {
          woken.push(wake);
          times.push(under().now());
          await onWake(wake);
        },
        (each) => void news.push(each),
      );
    await begin();
    return { waker, woken, times, news, begin };
  };
  /** Lets time pass until it is so. */
  const until = async (isSo: () => boolean, what: string): Promise<void> => {
    for (let rounds = 0; !isSo(); rounds += 1) {
      if (rounds === ROUNDS) throw new Error(`Waited ${(ROUNDS * STEP_MS) / 1_000} seconds for ${what}.`);
      await under().passes(STEP_MS);
    }
  };
  const cameTo = ({ woken }: { readonly woken: readonly Wake[] }, count: number): Promise<void> =>
    until(() => woken.length >= count, `${count} wakes`);

  describe(`the ${subject.name} waker`, () => {
    beforeAll(async () => {
      made = await subject.make();
    }, 60_000);

    afterAll(async () => {
      await Promise.all(all.map((waker) => waker.stop()));
      for (const waker of all) await waker.close?.();
      await made?.dispose();
    }, 60_000);

    for (const whose of ['mine', 'anybodys'] as const) {
      describe(`asked to wake for what is ${whose === 'mine' ? 'held by the process' : "anybody's"}`, () => {
        test('does when the delay is over and not before, and hands over what it was given', async () => {
          const process = await listening();
          const asked = wakeFor(fresh('op'), 7);
          const askedAt = under().now();

          process.waker.wake(asked, 400, whose);
          await under().passes(100);
          const early = process.woken.length;
          await cameTo(process, 1);

          expect(early).toBe(0);
          expect(process.woken).toStrictEqual([asked]);
          expect((process.times[0] ?? 0) - askedAt).toBeGreaterThanOrEqual(400);
        });

        test('does at once when there is no delay, after the caller has gone on', async () => {
          const process = await listening();
          const asked = wakeFor(fresh('op'), 0);

          process.waker.wake(asked, 0, whose);
          const meanwhile = process.woken.length;
          await cameTo(process, 1);

          expect(meanwhile).toBe(0);
          expect(process.woken).toStrictEqual([asked]);
        });

        test('does at the time of the latest request, where an earlier one was for later', async () => {
          const process = await listening();
          const asked = wakeFor(fresh('op'));

          process.waker.wake(asked, 3_600_000, whose);
          process.waker.wake(asked, 200, whose);
          await cameTo(process, 1);

          expect(process.woken).toStrictEqual([asked]);
        });

        test('goes on waking for others when what follows from a wake fails, or never ends', async () => {
          const [failing, hanging, other] = [wakeFor(fresh('op')), wakeFor(fresh('op')), wakeFor(fresh('op'))];
          const process = await listening(fresh('ledger'), ({ operationId }) => {
            if (operationId === failing.operationId) return Promise.reject(new Error('The shop has burnt down.'));
            return operationId === hanging.operationId ? new Promise<void>(() => {}) : undefined;
          });

          for (const wake of [failing, hanging]) process.waker.wake(wake, 100, whose);
          await cameTo(process, 2);
          process.waker.wake(other, 100, whose);
          await cameTo(process, 3);

          expect(process.woken.at(-1)).toStrictEqual(other);
        });
      });
    }

    test('keeps one wake an operation and tenant for the process that holds it: the latest request counts', async () => {
      const process = await listening();
      const [first, second] = [wakeFor('op-1', 1), wakeFor('op-1', 2)];
      const elsewhere = { ...first, tenant: 'another-shop' };

      process.waker.wake(first, 100, 'mine');
      process.waker.wake(elsewhere, 300, 'mine');
      process.waker.wake(second, 600, 'mine');
      await cameTo(process, 2);

      expect(process.woken).toStrictEqual([elsewhere, second]);
    });

    test('forgets what is the process own when it stops, and takes nothing of it until it is started again', async () => {
      const process = await listening();
      const later = wakeFor('op-4');
      process.waker.wake(wakeFor('op-1'), 100, 'mine');
      process.waker.wake(wakeFor('op-2'), 0, 'mine');

      await process.waker.stop();
      process.waker.wake(wakeFor('op-3'), 0, 'mine');
      await process.begin();
      process.waker.wake(later, 200, 'mine');
      await cameTo(process, 1);

      expect(process.woken).toStrictEqual([later]);
    });

    if (subject.reachesOthers) describe('of one process among several', () => severalTests());
  });

  function severalTests(): void {
    type Listening = Awaited<ReturnType<typeof listening>>;
    /** Processes on one database that hear each other by now; what they heard of it is forgotten. */
    const met = async (count: number, ledger = fresh('ledger')): Promise<readonly Listening[]> => {
      const processes = await Promise.all(Array.from({ length: count }, () => listening(ledger)));
      const names = processes.map(() => fresh('hello'));
      const hears = ({ news }: Listening, name: string) => news.some((each) => idIn(each) === name);
      await until(() => {
        processes.forEach(({ waker }, n) => waker.tell?.({ kind: 'said', ref: refTo(names[n] ?? '') }));
        return processes.every((one, n) => names.every((name, other) => n === other || hears(one, name)));
      }, 'the processes to hear each other');
      await ended(processes);
      return processes;
    };
    /** All that was told before has come, in order: a last word of each has come to all others. */
    const ended = async (processes: readonly Listening[]): Promise<void> => {
      const names = processes.map(({ waker }) => {
        const name = fresh('last');
        waker.tell?.({ kind: 'said', ref: refTo(name) });
        return name;
      });
      const isThere = ({ news }: Listening, n: number) =>
        names.every((name, other) => n === other || news.some((each) => idIn(each) === name));
      await until(() => processes.every(isThere), 'the last words of all processes');
      for (const { news } of processes) {
        news.splice(0, news.length, ...news.filter((each) => !/^(hello|last)/.test(idIn(each) ?? '')));
      }
    };
    const heardBy = (processes: readonly Listening[]): readonly (readonly Told[])[] =>
      processes.map(({ news }) => news);

    test('tells every other process what was said, and itself not', async () => {
      const processes = await met(3);
      const said = { kind: 'said', ref: refTo('op-1') } as const;

      processes[0]?.waker.tell?.(said);
      await ended(processes);

      expect(heardBy(processes)).toStrictEqual([[], [said], [said]]);
    });

    test('tells what is due to exactly one other process', async () => {
      const processes = await met(4);
      const due = Array.from({ length: 30 }, (_, n) => ({ kind: 'due', ref: refTo(`op-${n}`) }) as const);

      for (const each of due) processes[0]?.waker.tell?.(each);
      await ended(processes);

      const heard = heardBy(processes);
      expect(heard[0]).toStrictEqual([]);
      expect(heard.flat().length).toBe(due.length);
      expect(new Set(heard.flat().map(idIn))).toStrictEqual(new Set(due.map(idIn)));
    });

    test('tells all others that something was freed', async () => {
      const processes = await met(3);

      processes[0]?.waker.tell?.({ kind: 'freed' });
      await ended(processes);

      expect(heardBy(processes)).toStrictEqual([[], [{ kind: 'freed' }], [{ kind: 'freed' }]]);
    });

    test('tells of a change those who watch that very one, until they end it', async () => {
      const [teller, watcher] = await met(2);
      if (teller === undefined || watcher === undefined) throw new Error('Two have met.');
      const seen: string[] = [];
      const watch = (name: string, ref: OperationRef) =>
        watcher.waker.watch?.(ref, (rests) => void seen.push(`${name} ${rests ? 'rests' : 'moves on'}`));
      const tell = (ref: OperationRef, rests: boolean) => teller.waker.tell?.({ kind: 'changed', ref, rests });
      const [watched, ended, last] = [refTo('op-1'), refTo('op-3'), refTo('op-4')];
      watch('watched', watched);
      watch('elsewhere', { ...watched, tenant: 'another-shop' });
      watch('another', refTo('op-2'));
      const end = watch('ended', ended);
      watch('last', last);
      await until(() => {
        tell(last, false);
        return seen.includes('last moves on');
      }, 'a change to be seen');
      seen.length = 0;

      end?.();
      for (const rests of [false, true]) tell(watched, rests);
      tell(ended, true);
      tell(last, true);
      await until(() => seen.includes('last rests'), 'the last change to be seen');

      expect(seen.filter((each) => !each.startsWith('last'))).toStrictEqual(['watched moves on', 'watched rests']);
    });

    test('says nothing to processes on another database', async () => {
      const [here, there] = await Promise.all([met(2), met(2)]);
      const ref = refTo('op-1');
      const seen: boolean[] = [];
      there[1]?.waker.watch?.(ref, (rests) => void seen.push(rests));

      for (const kind of ['said', 'due'] as const) here[0]?.waker.tell?.({ kind, ref });
      here[0]?.waker.tell?.({ kind: 'freed' });
      here[0]?.waker.tell?.({ kind: 'changed', ref, rests: true });
      here[0]?.waker.wake(wakeFor('op-1'), 100, 'anybodys');
      await until(() => here.some(({ woken }) => woken.length > 0), 'the timer to come');
      await Promise.all([ended(here), ended(there)]);

      expect(here[1]?.news.length).toBe(3);
      expect(heardBy(there)).toStrictEqual([[], []]);
      expect([there.flatMap(({ woken }) => woken), seen]).toStrictEqual([[], []]);
    });

    test('tells others at once what it takes nothing of itself, because it is not started', async () => {
      const ledger = fresh('ledger');
      const processes = await met(2, ledger);
      const idle = await silent(ledger);
      const ref = refTo('op-1');

      idle.wake({ tenant: ref.tenant, operationId: ref.id, generation: null }, 0, 'anybodys');
      await until(() => processes.every(({ news }) => news.length > 0), 'all to be told');
      await until(() => processes.flatMap(({ news }) => news).length === 3, 'one to be asked to take it');

      const heard = heardBy(processes).flat();
      expect(heard.filter(({ kind }) => kind === 'said')).toStrictEqual(processes.map(() => ({ kind: 'said', ref })));
      expect(heard.filter(({ kind }) => kind === 'due')).toStrictEqual([{ kind: 'due', ref }]);
    });

    test('hears nothing any more once it has stopped, and tells still', async () => {
      const [stopped, other] = await met(2);
      if (stopped === undefined || other === undefined) throw new Error('Two have met.');

      await stopped.waker.stop();
      other.waker.tell?.({ kind: 'freed' });
      stopped.waker.tell?.({ kind: 'freed' });
      await until(() => other.news.length > 0, 'the other to be told');

      expect(heardBy([stopped, other])).toStrictEqual([[], [{ kind: 'freed' }]]);
    });
  }
}

/** How long is waited for what has to come: so many steps of so long. */
const [ROUNDS, STEP_MS] = [600, 20];

function wakeFor(operationId: string, generation = 1): Wake {
  return { tenant: 'shop-1', operationId, generation };
}

function refTo(id: string): OperationRef {
  return { tenant: 'shop-1', id };
}

function idIn(news: Told): string | undefined {
  return 'ref' in news ? news.ref.id : undefined;
}
