/**
 * The customers of the shop. They order at a moderate rate whatever the database does, come again until their order is
 * accepted, and wait for its end; some order twice at once, some change their minds, some ask. What they were told is
 * kept, to be compared with what is stored and with each other in the end.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { ScriptedProvider } from 'sagacity/testing';
import { isOver } from '../support/over.ts';
import type { Answer, End, HistoryLine, Verbs } from './calls.ts';
import type { Chance } from './chance.ts';
import type { Notes } from './notes.ts';
import { isSagaKind, type Kind, operationKinds, sagaKinds, stepsOf, troubles } from './shop.ts';
import type { WorkerProcess } from './worker.ts';

/** One order, and all that its customers were told about it. */
export interface Ordered {
  readonly orderId: string;
  readonly kind: Kind;
  /** Its operation or saga; null until it is accepted. */
  id: string | null;
  /** How many submissions were told that they created it. */
  news: number;
  readonly ends: End[];
  readonly histories: (readonly HistoryLine[])[];
}

export type Accepted = Ordered & { readonly id: string };

export interface Load {
  readonly orders: readonly Ordered[];
  /** One of the orders that were accepted so far, if there is any. */
  any(as: 'operation' | 'saga'): Accepted | null;
  /** No more orders. Resolves when all customers know how theirs ended. */
  finish(): Promise<void>;
  /** No more orders, and customers that still wait do not wait any longer. */
  giveUp(): void;
}

export interface Around {
  readonly workers: readonly [WorkerProcess, ...WorkerProcess[]];
  readonly provider: ScriptedProvider;
  readonly chance: Chance;
  readonly notes: Notes;
}

/** Pauses between orders are up to twice this long. */
const PAUSE_MS = 100;
const SAGAS = 0.3;
/** More orders are not under way at once: the database cannot be asked for what it does not do. */
const UNDER_WAY_MAX = 40;

/** Who was not answered comes again after this. */
const COME_AGAIN_MS = 250;

/** What the customers of an order will do, drawn before any of it. */
interface Plan {
  readonly trouble: (typeof troubles)[number] | null;
  readonly customers: readonly Customer[];
}

interface Customer {
  /** Goes to this worker first, and to the other one next. */
  readonly worker: number;
  readonly cancels: boolean;
  readonly asks: boolean;
}

export function startLoad({ workers, provider, chance, notes }: Around): Load {
  const orders: Ordered[] = [];
  const underWay = new Set<Promise<void>>();
  let finished = false;
  let givenUp = false;

  const plan = (): Plan => {
    const customer = () => ({ worker: chance.below(workers.length), cancels: chance.is(0.2), asks: chance.is(0.3) });
    return {
      trouble: chance.is(0.35) ? chance.oneOf(troubles) : null,
      customers: chance.is(0.25) ? [customer(), customer()] : [customer()],
    };
  };

  const ordering = async () => {
    while (!finished) {
      const kind = chance.is(SAGAS) ? chance.oneOf(sagaKinds) : chance.oneOf(operationKinds);
      const [planned, pauseMs] = [plan(), 1 + chance.below(2 * PAUSE_MS)];
      if (underWay.size < UNDER_WAY_MAX) begin(kind, planned);
      await pause(pauseMs);
    }
  };

  const begin = (kind: Kind, planned: Plan) => {
    const order: Ordered = {
      orderId: `${kind}-${orders.length + 1}`,
      kind,
      id: null,
      news: 0,
      ends: [],
      histories: [],
    };
    orders.push(order);
    notes.tally[isSagaKind(kind) ? 'sagas' : 'operations'] += 1;
    const journey = journeyOf(order, planned).then(() => void underWay.delete(journey));
    underWay.add(journey);
    // One that failed stays, for `finish` to tell of it: until then nobody waits for it.
    journey.catch(() => {});
  };

  const journeyOf = async (order: Ordered, { trouble, customers }: Plan) => {
    const troubled = isSagaKind(order.kind) ? chance.oneOf(stepsOf[order.kind]) : order.kind;
    if (trouble !== null) await provider.faults([trouble], troubled);
    // Everything of a barter is taken back, unless its refusal struck another one.
    if (order.kind === 'barter') await provider.faults(['decline'], 'transfer');
    await Promise.all(customers.map((customer) => visit(order, customer)));
  };

  const visit = async (order: Ordered, { worker, cancels, asks }: Customer) => {
    let turns = worker;
    const next = () => workers[(turns += 1) % workers.length] ?? workers[0];
    const accepted = await untilAnswered(() => next().ask('submit', order.kind, order.orderId));
    if (accepted === null) return;
    const { id } = accepted;
    note(order, accepted);
    // Once, and no matter whether it is answered: the order goes on either way.
    if (cancels) await next().ask('cancel', id);
    if (asks) await askAbout(order, id, next());
    for (;;) {
      const end = await untilAnswered(() => next().ask('result', order.kind, id));
      if (end === null) return;
      if (!isOver(end)) continue;
      if (order.ends.length === 0 && end.status === 'compensated') notes.tally.takenBack += 1;
      order.ends.push(end);
      if (asks) await askAbout(order, id, next());
      return;
    }
  };

  /** Null when nobody waits any longer. */
  const untilAnswered = async <Value>(call: () => Promise<Answer<Value>>): Promise<Value | null> => {
    while (!givenUp) {
      const answer = await call();
      if (answer.how === 'answered') return answer.value;
      await pause(COME_AGAIN_MS);
    }
    return null;
  };

  const orderingUntilFinished = ordering();
  return {
    orders,
    any(as) {
      const accepted = orders.filter(
        (order): order is Accepted => order.id !== null && isSagaKind(order.kind) === (as === 'saga'),
      );
      return accepted[chance.below(accepted.length)] ?? null;
    },
    async finish() {
      finished = true;
      await orderingUntilFinished;
      while (underWay.size > 0) await Promise.all(underWay);
    },
    giveUp() {
      finished = true;
      givenUp = true;
    },
  };
}

/** Orders what was ordered before. */
export async function orderAgain(order: Ordered, worker: WorkerProcess): Promise<void> {
  const answer = await worker.ask('submit', order.kind, order.orderId);
  if (answer.how === 'answered') note(order, answer.value);
}

function note(order: Ordered, { id, submission }: ReturnType<Verbs['submit']>): void {
  order.id = id;
  if (submission === 'new') order.news += 1;
}

/** Asks a worker all that can be asked, and keeps what its history was. */
export async function askAbout(order: Ordered, id: string, worker: WorkerProcess): Promise<void> {
  const history = worker.ask('history', order.kind, id).then((answer) => {
    if (answer.how === 'answered') order.histories.push(answer.value);
  });
  await Promise.all([
    history,
    worker.ask('run', order.kind, id),
    worker.ask('doubts'),
    worker.ask('escalated'),
    worker.ask('versions'),
    worker.ask('inFlight'),
    worker.ask('settled'),
  ]);
}
