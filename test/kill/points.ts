/** The points at which `npm run kill` strikes: every kill point, and two on the way to the provider. */

import type { StatementName } from '../../src/adapters/postgres/executor.ts';
import { type Durable, type KillPoint, killPoints, type Side } from '../../src/testing/kill-points.ts';

/** Half of a request has left; all of it has, and no reply has come. */
const wirePoints = ['half a request', 'during request'] as const;

export type Point = KillPoint | (typeof wirePoints)[number];

export const points: readonly Point[] = [...killPoints, ...wirePoints];

/** Boundaries of what is not built yet. */
export const notYet = ['timer', 'outbox', 'inbox', 'prune', 'migration'] as const;

/** What `during` a point is on its way to the database, or null for any other point. */
export function statementsOf(point: Point): readonly StatementName[] | null {
  const [side, durable] = apart(point);
  return side === 'during' && durable in statements ? statements[durable] : null;
}

/** It is about what a worker does for itself, or a claim: how often it comes is a matter of time. */
export function comesByTime(point: Point): boolean {
  const [, durable] = apart(point);
  return ['claim', 'enlist', 'renew', 'retire', 'bury', 'move', 'question', 'look-up'].includes(durable);
}

function apart(point: Point): [Side, Durable] {
  const space = point.indexOf(' ');
  // Every point is named so; of those on the wire the second half is no durable, and in no table here.
  return [point.slice(0, space) as Side, point.slice(space + 1) as Durable];
}

const turns: readonly StatementName[] = ['turn', 'saga-turn'];

const statements: Readonly<Record<Durable, readonly StatementName[]>> = {
  ...{ birth: turns, start: turns, end: turns, 'look-up': turns, word: turns, step: turns, inverse: turns },
  ...{ ending: turns, move: turns },
  claim: ['claim-due', 'claim-in-turn', 'claim-one', 'claim-sagas-due', 'claim-sagas-in-turn', 'claim-saga'],
  'hand-over': ['hand-over'],
  ...{ enlist: ['enlist'], renew: ['renew'], retire: ['retire'], bury: ['bury'] },
};
