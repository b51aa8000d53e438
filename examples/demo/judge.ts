/**
 * Decides whether a scenario went right. The provider is asked in its own process what it received and what it
 * stored; only if that, the library's history and the expectation agree in everything is the row ok.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Order } from './shop.ts';
import type { Scenario, Seen, Stage } from './scenarios.ts';

/** One line of `--json`. */
export interface Row {
  readonly scenario: string;
  readonly attempts: number;
  readonly lookups: number;
  readonly kills: number;
  readonly states: readonly string[];
  readonly records: Readonly<Record<string, number>>;
  readonly providerRecords: number;
  readonly expectedRecords: number;
  /** Why it was taken back; only where it was. */
  readonly cause?: { readonly step: string | null; readonly code: string };
  readonly ok: boolean;
  readonly ms: number;
}

/** Plays a scenario and judges it. Never rejects: what went wrong is told to `complain`, and the row is not ok. */
export async function judged(
  scenario: Scenario,
  stage: Stage,
  complain: (what: string) => void,
): Promise<{ readonly row: Row }> {
  const began = performance.now();
  const { expected, name } = scenario;
  const order: Order = { orderId: scenario.orderId, amount: 1200 };
  const faults: string[] = [];
  let told: Seen = { attempts: 0, lookups: 0, kills: 0, states: [], named: [], claims: {} };
  let stored: Stored = { records: {}, ids: [] };
  try {
    const before = (await stage.provider.received()).length;
    told = await scenario.play(stage, order);
    stored = await storedFor(stage, order);
    faults.push(...faultsIn(scenario, told, stored, await sentSince(stage, before)));
  } catch (error) {
    faults.push(error instanceof Error ? error.message : String(error));
    stored = await storedFor(stage, order).catch(() => stored);
  }
  for (const fault of faults) complain(`${name}: ${fault}`);
  const { attempts, lookups, kills, states, cause } = told;
  return {
    row: {
      scenario: name,
      ...{ attempts, lookups, kills, states },
      records: stored.records,
      providerRecords: stored.ids.length,
      expectedRecords: sum(expected.records),
      ...(cause === undefined ? {} : { cause }),
      ok: faults.length === 0,
      ms: Math.round(performance.now() - began),
    },
  };
}

/** The provider's records of one order, whatever key they were made under. */
interface Stored {
  readonly records: Readonly<Record<string, number>>;
  readonly ids: readonly string[];
}

/** What arrived at the provider while the scenario played. */
interface Sent {
  readonly posts: number;
  readonly lookups: number;
  readonly keys: number;
}

async function storedFor({ provider }: Stage, { orderId }: Order): Promise<Stored> {
  const ours = (await provider.records()).filter((record) => record.orderId === orderId);
  const records: Record<string, number> = {};
  for (const { kind } of ours) records[kind] = (records[kind] ?? 0) + 1;
  return { records, ids: ours.map(({ id }) => id) };
}

async function sentSince({ provider }: Stage, before: number): Promise<Sent> {
  const arrived = (await provider.received()).slice(before);
  const posts = arrived.filter(({ method }) => method === 'POST');
  return {
    posts: posts.length,
    lookups: arrived.length - posts.length,
    keys: new Set(arrived.map(({ key }) => key)).size,
  };
}

function faultsIn({ expected }: Scenario, told: Seen, stored: Stored, sent: Sent): string[] {
  const faults: string[] = [];
  const compare = (what: string, is: unknown, should: unknown) => {
    if (isDeepStrictEqual(is, should)) return;
    faults.push(`${what}: ${JSON.stringify(is)} instead of ${JSON.stringify(should)}`);
  };
  compare('records at the provider', stored.records, expected.records);
  compare('attempts', told.attempts, expected.attempts);
  compare('look-ups', told.lookups, expected.lookups);
  compare('kills', told.kills, expected.kills);
  compare('states', told.states, expected.states);
  compare('requests that the provider received', sent.posts, expected.attempts);
  compare('look-ups that the provider received', sent.lookups, expected.lookups);
  compare('keys that the provider received', sent.keys, expected.keys ?? 1);
  compare('records that the library names', told.named.toSorted(), stored.ids.toSorted());
  for (const [claim, holds] of Object.entries(told.claims)) if (!holds) faults.push(`not so: ${claim}`);
  return faults;
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
