/**
 * What the demo plays: ways to lose a reply or to ask twice, and what must have come of each. A scenario reports what
 * the library's history says; whether that is right is decided elsewhere, against the provider's own records.
 */

import { isSagacityError, type Orchestrator, type Result, type Run, type StoryRecord, succeeded } from 'sagacity';
import type { ScriptedProvider } from 'sagacity/testing';
import type { fulfilmentAsChain } from '../fulfilment/builder.ts';
import { killAndRestart, type StartProcess } from './kill.ts';
import type { Order, shopAt } from './shop.ts';
import { storyToldBy, type Told, toldBy } from './told.ts';

/** Everything a scenario plays with. */
export interface Stage {
  readonly provider: ScriptedProvider;
  readonly orchestrator: Orchestrator<true>;
  readonly shop: ReturnType<typeof shopAt>;
  /** Five steps that belong together. */
  readonly fulfilment: ReturnType<typeof fulfilmentAsChain>;
  readonly start: StartProcess;
  /** A database for a worker of its own. */
  readonly workerDatabase: string;
}

/** What was seen. Every claim must be true. */
export interface Seen extends Told {
  readonly kills: number;
  /** The records that the library names, to be compared with the provider's. */
  readonly named: readonly string[];
  /** Why everything was taken back, where it was. */
  readonly cause?: { readonly step: string | null; readonly code: string };
  readonly claims: Readonly<Record<string, boolean>>;
}

export interface Scenario {
  readonly name: string;
  readonly story: string;
  readonly orderId: string;
  readonly expected: Told & {
    readonly kills: number;
    readonly records: Readonly<Record<string, number>>;
    /** How many the provider was shown. One, where it is one operation. */
    readonly keys?: number;
  };
  readonly play: (stage: Stage, order: Order) => Promise<Seen>;
}

const WITHIN = '30s';

const once = ['pending', 'in-progress'];
const twice = [...once, 'unknown', ...once];

export const scenarios: readonly Scenario[] = [
  {
    name: 'A fail before commit',
    story: '503 and nothing stored: sent again, same key',
    orderId: 'order-a',
    expected: { attempts: 2, lookups: 0, kills: 0, records: { job: 1 }, states: [...twice, 'succeeded'] },
    async play({ provider, orchestrator, shop }, order) {
      await provider.faults(['fail-before-commit'], 'job');
      return seen(await orchestrator.submit(shop.createJob, order));
    },
  },
  {
    name: 'B commit, then error',
    story: '503 although stored: sent again, same key, replayed',
    orderId: 'order-b',
    expected: { attempts: 2, lookups: 0, kills: 0, records: { job: 1 }, states: [...twice, 'succeeded'] },
    async play({ provider, orchestrator, shop }, order) {
      await provider.faults(['commit-then-error'], 'job');
      return seen(await orchestrator.submit(shop.createJob, order));
    },
  },
  {
    name: 'C commit, then lost reply',
    story: 'connection lost after storing: looked up, not sent again',
    orderId: 'order-c',
    expected: { attempts: 1, lookups: 1, kills: 0, records: { job: 1 }, states: [...once, 'unknown', 'succeeded'] },
    async play({ provider, orchestrator, shop }, order) {
      await provider.faults(['commit-then-drop'], 'job');
      return seen(await orchestrator.submit(shop.createTrackedJob, order));
    },
  },
  {
    name: 'D killed worker',
    story: 'SIGKILL after the provider stored: restarted, looked up',
    orderId: 'order-d',
    expected: { attempts: 1, lookups: 1, kills: 1, records: { payment: 1 }, states: [...once, 'unknown', 'succeeded'] },
    async play({ provider, start, workerDatabase }, order) {
      const killed = await killAndRestart(provider, start, workerDatabase, order.orderId);
      const { submission, resultId, ...told } = killed;
      return {
        ...told,
        named: resultId === null ? [] : [resultId],
        claims: { 'the restarted worker found its operation again': submission !== 'new' },
      };
    },
  },
  {
    name: 'E fifty at once',
    story: 'fifty simultaneous submissions: one executes, all get its result',
    orderId: 'order-e',
    expected: { attempts: 1, lookups: 0, kills: 0, records: { payment: 1 }, states: [...once, 'succeeded'] },
    async play({ orchestrator, shop }, order) {
      const runs = await Promise.all(Array.from({ length: 50 }, () => orchestrator.submit(shop.chargeCard, order)));
      const ids = await Promise.all(runs.map(async (run) => idIn(await run.result({ within: WITHIN }))));
      return seen(runs[0], {
        'exactly one submission was new': runs.filter(({ submission }) => submission === 'new').length === 1,
        'all fifty got the same record': ids[0] !== null && ids.every((id) => id === ids[0]),
      });
    },
  },
  {
    name: 'F same key, other amount',
    story: 'a second intent under a used key: a typed conflict, nothing sent',
    orderId: 'order-f',
    expected: { attempts: 1, lookups: 0, kills: 0, records: { payment: 1 }, states: [...once, 'succeeded'] },
    async play({ orchestrator, shop }, order) {
      const run = await orchestrator.submit(shop.chargeCard, order);
      await run.result({ within: WITHIN });
      const refusal = await orchestrator.submit(shop.chargeCard, { ...order, amount: order.amount + 1 }).then(
        () => null,
        (error: unknown) => error,
      );
      return seen(run, { 'the other amount was a conflict': isSagacityError(refusal, 'IDEMPOTENCY_CONFLICT') });
    },
  },
  {
    name: 'G shipment refused',
    story: 'two steps taken back; the reply of one compensation lost: looked up',
    orderId: 'order-g',
    expected: {
      ...{ attempts: 5, lookups: 1, kills: 0, keys: 5 },
      records: { authorisation: 1, reservation: 1, release: 1, void: 1 },
      states: ['prepare', 'review', 'shipping', 'compensating', 'compensated'],
    },
    async play({ provider, orchestrator, fulfilment }, { orderId, amount }) {
      await provider.faults(['decline'], 'shipment');
      await provider.faults(['commit-then-drop'], 'void');
      const goods = { lines: ['lamp'], address: 'Quay 1', email: 'orders@quay.example' };
      const run = await orchestrator.submit(fulfilment, { orderId, total: amount, ...goods });
      const end = await run.result({ within: WITHIN });
      if (end.status !== 'compensated') throw new Error(`The saga is ${end.status}, not compensated.`);
      const { cause } = end;
      const story = await run.history();
      return {
        ...storyToldBy(story),
        ...{ kills: 0, named: recordsIn(story), cause },
        claims: { 'the cause is the shipment': cause.step === 'shipment' && cause.code === 'address_refused' },
      };
    },
  },
  {
    name: 'H neither key nor look-up',
    story: 'reply lost, nobody can tell: escalated, resolved by a person',
    orderId: 'order-h',
    expected: {
      ...{ attempts: 1, lookups: 0, kills: 0, records: { email: 1 } },
      states: [...once, 'unknown', 'escalated', 'succeeded'],
    },
    async play({ provider, orchestrator, shop }, order) {
      await provider.faults(['commit-then-drop'], 'email');
      const run = await orchestrator.submit(shop.sendEmail, order);
      const end = await run.result({ within: WITHIN });
      const doubt = (await orchestrator.operator.doubts()).find(({ id }) => id === run.id);
      if (doubt === undefined) throw new Error('The e-mail is not among the doubts.');
      // The person looks at the mail service's own list of what was sent.
      const sent = (await provider.records({ kind: 'email' })).find(({ orderId }) => orderId === order.orderId);
      if (sent === undefined) throw new Error('The mail service shows no such e-mail.');
      await orchestrator.operator.resolve(run.id, succeeded({ id: sent.id }, { reference: sent.id }), {
        by: 'on-call',
        evidence: `the mail service lists ${sent.id} for ${order.orderId}`,
        seen: doubt.seen,
      });
      return seen(run, { 'a person was asked': end.status === 'escalated' && doubt.reason === 'no-lookup' });
    },
  },
];

/** Waits for the end and reads the history. */
async function seen(run: Run<{ id: string }> | undefined, claims: Seen['claims'] = {}): Promise<Seen> {
  if (run === undefined) throw new Error('Nothing was submitted.');
  const end = await run.result({ within: WITHIN });
  const id = idIn(end);
  return { ...toldBy(await run.history()), kills: 0, named: id === null ? [] : [id], claims };
}

/** The records at the provider that a saga's story names as proven, by a reply or by a look-up. */
function recordsIn(story: readonly StoryRecord[]): readonly string[] {
  return story.flatMap(({ facts: { reference, records } }) => {
    const found: readonly unknown[] = Array.isArray(records) ? records : [];
    return [reference, ...found.map(referenceOf)].filter((name) => typeof name === 'string');
  });
}

function referenceOf(record: unknown): unknown {
  return typeof record === 'object' && record !== null && 'reference' in record ? record.reference : null;
}

function idIn(end: Result<{ id: string }>): string | null {
  return end.status === 'succeeded' ? end.output.id : null;
}
