/** The points at which `npm run kill` strikes: every kill point, and three that are seen only on the way. */

import type { StatementName } from '../../src/adapters/postgres/executor.ts';
import { type Durable, type Hint, type KillPoint, killPoints, type Side } from '../../src/testing/kill-points.ts';
import type { Letter } from './letters.ts';

/**
 * Half of a request has left; all of it has, and no reply has come. Of a timer: NATS keeps it and says so, and nobody has
 * heard that.
 */
const wirePoints = ['half a request', 'during request', 'after timer'] as const;

export type Point = KillPoint | (typeof wirePoints)[number];

export const points: readonly Point[] = [...killPoints, ...wirePoints];

/** Boundaries of what is not built yet. */
export const notYet = ['outbox', 'inbox', 'prune', 'migration'] as const;

/** What `during` a point is on its way to the database or to NATS, or null for any other point. */
export function underWayAt(point: Point): readonly (StatementName | Letter)[] | null {
  const [side, what] = apart(point);
  return side === 'during' && what in sent ? sent[what] : null;
}

/** There a timer is kept by NATS, or is about to be. */
export function hasTimerKept(point: Point): boolean {
  return ['during timer', 'after timer', 'before wake', 'after wake'].includes(point);
}

/** It is about what a worker does for itself, or a claim: how often it comes is a matter of time. */
export function comesByTime(point: Point): boolean {
  const [, what] = apart(point);
  const byTime = ['claim', 'enlist', 'renew', 'retire', 'bury', 'move', 'question', 'look-up', 'timer', 'news', 'wake'];
  return byTime.includes(what);
}

function apart(point: Point): [Side, Durable | Hint] {
  const space = point.indexOf(' ');
  // Every point is named so; of the others the second half is in no table here.
  return [point.slice(0, space) as Side, point.slice(space + 1) as Durable | Hint];
}

const turns: readonly StatementName[] = ['turn', 'saga-turn'];

const sent: Readonly<Record<Durable | Hint, readonly (StatementName | Letter)[]>> = {
  ...{ birth: turns, start: turns, end: turns, 'look-up': turns, word: turns, step: turns, inverse: turns },
  ...{ ending: turns, move: turns },
  claim: ['claim-due', 'claim-in-turn', 'claim-one', 'claim-sagas-due', 'claim-sagas-in-turn', 'claim-saga'],
  'hand-over': ['hand-over'],
  ...{ enlist: ['enlist'], renew: ['renew'], retire: ['retire'], bury: ['bury'] },
  ...{ timer: ['timers'], news: ['said', 'due', 'freed'] },
};
