/**
 * The promises of the store port about events from outside, as tests that `storeSuite` declares with the rest: each is
 * kept once under its name and id, and handed over once, whether its saga is there or not, and what a turn says of it
 * stands with that turn or not at all.
 */

import { encode } from '../domain/codec.ts';
import type { Fence, NewSignal, OperationRef, SignalChange, SignalRow } from '../ports/store.ts';
import { fences, fresh, handing, sagaBirth, sagaMoving, values } from './store-turns.ts';
import type { Bench, TestApi } from './store-under-test.ts';

/** How a saga is after its birth, when nobody owns it. */
const born: Fence = { owner: null, generation: 1, revision: 1 };

/** Where the saga is of which something is said. */
const whereabouts = ['is there', 'is not there yet'] as const;

export function signalTests(
  { verb, advance, sagaOf, applySaga: apply }: Bench,
  { describe, test, expect }: TestApi,
): void {
  const saying = ({ tenant, id }: OperationRef, signal: Partial<NewSignal> = {}): NewSignal => {
    const { name = 'order.paid', eventId = fresh('event') } = signal;
    return {
      ...{ tenant, id, name, eventId, fingerprint: 'fp-1', keepForMs: 60_000 },
      ...{ handoverId: `signal ${name} ${eventId}`, body: { said: eventId } },
      ...signal,
    };
  };
  const becoming = (state: SignalChange['state'], { name, eventId }: NewSignal, why: string | null = null) => ({
    ...{ name, eventId, state, why },
  });
  /** Reads what must be there. */
  const signalOf = async (ref: NewSignal): Promise<SignalRow> => {
    const row = await verb().readSignal(ref);
    if (row === null) throw new Error(`There is no signal ${ref.name} of event ${ref.eventId}.`);
    return row;
  };
  const timeless = (row: SignalRow) => ({ ...row, now: 0 });
  const became = async (ref: NewSignal): Promise<unknown> => {
    const { state, why } = await signalOf(ref);
    return [state, why];
  };

  describe('a signal', () => {
    for (const where of whereabouts) {
      test(`to a saga that ${where} is kept as it was given, and handed over with the time at which it expires`, async () => {
        const saga = sagaBirth(fresh('shop'));
        if (where === 'is there') await apply(saga);
        const sent = saying(saga, { keepForMs: 59_999.5, body: { amount: 1200 } });

        const told = await verb().signal(sent);

        const { tenant, id, name, eventId, fingerprint } = sent;
        const expiresAt = told.at + 60_000;
        const kept = { tenant, id, name, eventId, fingerprint, state: 'new', why: null, at: told.at, expiresAt };
        expect(told).toEqual({ ...kept, now: told.at });
        const read = await signalOf(sent);
        expect(read).toEqual({ ...kept, now: read.now });
        expect(read.now).toBeGreaterThanOrEqual(told.now);
        if (where === 'is not there yet') await apply(saga);
        expect((await sagaOf(saga)).handovers).toEqual([handing(saga, sent.handoverId, { amount: 1200, expiresAt })]);
      });

      test(`to a saga that ${where} is kept and handed over once when 10 calls send it at the same moment`, async () => {
        const saga = sagaBirth(fresh('shop'));
        if (where === 'is there') await apply(saga);
        const sent = saying(saga);

        const told = await Promise.all(Array.from({ length: 10 }, () => verb().signal(sent)));

        const kept = await signalOf(sent);
        expect(told.map(timeless)).toEqual(told.map(() => timeless(kept)));
        if (where === 'is not there yet') await apply(saga);
        const body = { said: sent.eventId, expiresAt: kept.expiresAt };
        expect((await sagaOf(saga)).handovers).toEqual([handing(saga, sent.handoverId, body)]);
      });

      test(`to a saga that ${where} stays as it was first sent, whatever is sent after it`, async () => {
        const saga = sagaBirth(fresh('shop'));
        if (where === 'is there') await apply(saga);
        const sent = saying(saga);
        const first = await verb().signal(sent);
        await advance(1_000);

        const others = { fingerprint: 'fp-2', keepForMs: 5, handoverId: 'another', body: { said: 'another' } };
        const later = await verb().signal({ ...sent, ...others });

        expect(timeless(later)).toEqual(timeless(first));
        expect(later.now).toBeGreaterThanOrEqual(first.now + 1_000);
        expect(timeless(await signalOf(sent))).toEqual(timeless(first));
        if (where === 'is not there yet') await apply(saga);
        const body = { said: sent.eventId, expiresAt: first.expiresAt };
        expect((await sagaOf(saga)).handovers).toEqual([handing(saga, sent.handoverId, body)]);
      });
    }

    test('that was taken is told with what became of it, and is not handed over again', async () => {
      const saga = sagaBirth(fresh('shop'));
      await apply(saga);
      const sent = saying(saga);
      await verb().signal(sent);
      const refused = [becoming('refused', sent, 'nothing is paid twice')];
      await apply(sagaMoving(saga, born, { signals: refused, takes: [sent.handoverId] }));

      const again = await verb().signal(sent);

      expect([again.state, again.why]).toEqual(['refused', 'nothing is paid twice']);
      expect((await sagaOf(saga)).handovers).toEqual([]);
    });

    test('is another under another name, event id, saga or tenant, and none of them is read for the other', async () => {
      const tenant = fresh('shop');
      const first = saying({ tenant, id: 'saga-1' }, { eventId: 'event-1' });
      const others = [
        saying(first, { eventId: 'event-1', name: 'order.shipped' }),
        saying(first, { eventId: 'event-2' }),
        saying({ tenant, id: 'saga-2' }, { eventId: 'event-1' }),
        saying({ tenant: fresh('shop'), id: 'saga-1' }, { eventId: 'event-1' }),
      ];

      for (const [n, sent] of [first, ...others].entries()) {
        const before = await verb().readSignal(sent);
        await verb().signal({ ...sent, fingerprint: `fp-of-${n}` });
        expect(before).toBe(null);
      }

      const kept = await Promise.all([first, ...others].map(signalOf));
      expect(kept.map(({ fingerprint }) => fingerprint)).toEqual(kept.map((_, n) => `fp-of-${n}`));
    });

    test('waits in the order in which it came, among all else that is handed over', async () => {
      const saga = sagaBirth(fresh('shop'));
      const [third, first] = [saying(saga, { eventId: 'a' }), saying(saga, { eventId: 'z' })];
      await verb().signal(first);
      await verb().handOver(handing(saga, 'm'));
      await apply(saga);
      await verb().signal(third);
      await verb().signal(first);

      const { handovers } = await sagaOf(saga);

      expect(handovers.map(({ handoverId }) => handoverId)).toEqual([first.handoverId, 'm', third.handoverId]);
    });

    test('has the saga claimed by whoever asks what is handed over', async () => {
      const worker = fresh('worker');
      await verb().enlist(worker);
      const saga = sagaBirth(fresh('shop'), { owner: worker });
      await apply(saga);
      await verb().signal(saying(saga));

      const found = await verb().handedOver(worker, 10);

      expect(found).toEqual([{ tenant: saga.tenant, id: saga.id }]);
    });

    test('hands over what was given, whatever that is', async () => {
      const saga = sagaBirth(fresh('shop'));
      await apply(saga);
      const given = values().map(([, value]) => ({ stored: encode(value) }));

      for (const body of given) await verb().signal(saying(saga, { body }));

      const { handovers } = await sagaOf(saga);
      const bodies = handovers.map(({ body }) => ({ ...Object(body), expiresAt: 0 }));
      expect(bodies).toStrictEqual(given.map((body) => ({ ...body, expiresAt: 0 })));
    });
  });

  describe('what a turn makes of a signal', () => {
    const everyState = ['kept', 'applied', 'refused', 'expired'] as const;

    for (const state of everyState) {
      test(`stands when it is ${state}, with why, and with all else as it was`, async () => {
        const saga = sagaBirth(fresh('shop'));
        await apply(saga);
        const sent = saying(saga);
        const before = await verb().signal(sent);

        await apply(sagaMoving(saga, born, { signals: [becoming(state, sent, 'so it is')] }));

        expect(timeless(await signalOf(sent))).toEqual({ ...timeless(before), state, why: 'so it is' });
      });

      test(`may be ${state} after it was kept, and stays so unless it is kept`, async () => {
        const saga = sagaBirth(fresh('shop'));
        await apply(saga);
        const sent = saying(saga);
        await verb().signal(sent);
        const turns = [becoming('kept', sent), becoming(state, sent, 'first'), becoming('applied', sent, 'second')];

        for (const [n, change] of turns.entries())
          await apply(sagaMoving(saga, { ...born, revision: n + 1 }, { signals: [change] }));

        expect(await became(sent)).toEqual(state === 'kept' ? ['applied', 'second'] : [state, 'first']);
      });
    }

    test('is written with the birth of the saga, too', async () => {
      const saga = sagaBirth(fresh('shop'));
      const sent = saying(saga);
      await verb().signal(sent);

      await apply({ ...saga, signals: [becoming('applied', sent)] });

      expect(await became(sent)).toEqual(['applied', null]);
    });

    test('is written of each that it names, and of one that was never sent not at all', async () => {
      const saga = sagaBirth(fresh('shop'));
      await apply(saga);
      const [first, second, never] = [saying(saga), saying(saga), saying(saga)];
      for (const sent of [first, second]) await verb().signal(sent);

      await apply(
        sagaMoving(saga, born, {
          signals: [becoming('applied', never), becoming('kept', second), becoming('refused', first, 'late')],
        }),
      );

      expect([await became(first), await became(second)]).toEqual([
        ['refused', 'late'],
        ['kept', null],
      ]);
      expect(await verb().readSignal(never)).toBe(null);
    });

    test('touches none of another name, event id, saga or tenant', async () => {
      const tenant = fresh('shop');
      const saga = sagaBirth(tenant, { id: 'saga-1' });
      await apply(saga);
      const sent = saying(saga, { eventId: 'event-1' });
      const others = [
        saying(saga, { eventId: 'event-1', name: 'order.shipped' }),
        saying(saga, { eventId: 'event-2' }),
        saying({ tenant, id: 'saga-2' }, { eventId: 'event-1' }),
        saying({ tenant: fresh('shop'), id: 'saga-1' }, { eventId: 'event-1' }),
      ];
      for (const each of [sent, ...others]) await verb().signal(each);

      await apply(sagaMoving(saga, born, { signals: [becoming('applied', sent)] }));

      const states = await Promise.all([sent, ...others].map(signalOf));
      expect(states.map(({ state }) => state)).toEqual(['applied', 'new', 'new', 'new', 'new']);
    });

    test('is of its own saga when 40 sagas move at the same moment', async () => {
      const tenant = fresh('shop');
      const sagas = Array.from({ length: 40 }, () => sagaBirth(tenant));
      const sent = sagas.map((saga) => saying(saga, { eventId: 'event-1' }));
      await Promise.all(sagas.map(apply));
      await Promise.all(sent.map((each) => verb().signal(each)));

      await Promise.all(
        sent.map((each, n) => apply(sagaMoving(each, born, { signals: [becoming('refused', each, `why ${n}`)] }))),
      );

      expect(await Promise.all(sent.map(became))).toEqual(sent.map((_, n) => ['refused', `why ${n}`]));
    });

    for (const [what, was] of fences) {
      test(`is not written by a turn that expects ${what}`, async () => {
        const saga = sagaBirth(fresh('shop'), { owner: 'w1' });
        await apply(saga);
        const sent = saying(saga);
        await verb().signal(sent);

        const receipt = await verb().sagaTurn(
          sagaMoving(saga, was, { signals: [becoming('applied', sent)], takes: [sent.handoverId] }),
        );

        expect([receipt, await became(sent)]).toEqual([null, ['new', null]]);
        expect((await sagaOf(saga)).handovers.length).toBe(1);
      });
    }
  });
}
