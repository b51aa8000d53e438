/**
 * What format 2 leaves out of the snapshots of operations and sagas: whatever is as it says here. Rows have been written
 * with these models, so they never change; what is to be left out beside that is another format.
 */

import type { Model } from '../domain/lean.ts';

const waiting: Model = { defaults: { generation: 1 } };

const timer: Model = { defaults: { to: null, generation: 1 } };

/** Of a chart's row, whosever chart it is: what it remembers is not looked into. */
const chart: Model = {
  defaults: { status: 'active', children: {}, timers: {}, generations: {}, ids: 0 },
  each: { children: waiting, timers: timer },
};

const history: Model = {
  defaults: {
    ...{ attempts: [], grants: 0, refusedSends: 0, lookups: 0, cancelled: false },
    ...{ found: [], severalFound: false, result: null },
  },
};

const policy: Model = {
  defaults: { keyRetentionMs: null, lookup: null, timeoutMs: 30_000, sendWithinMs: 5_000, inverse: false, retry: {} },
  members: {
    lookup: { defaults: { arrivalLimitMs: null, everyMs: 5_000, giveUpAfterMs: 259_200_000 } },
    retry: {
      defaults: { attempts: 3, backoff: 'exponential', delayMs: 1_000, maxDelayMs: 30_000, jitter: 'full' },
    },
  },
};

export const operationModel: Model = {
  defaults: chart.defaults,
  each: chart.each ?? {},
  members: {
    context: {
      defaults: {
        ...{ code: null, reason: null, escalatedFrom: 'operation', inverseCode: null, joined: [], verified: null },
        history: {},
      },
      members: { history, policy },
    },
  },
};

const child: Model = {
  defaults: {
    ...{ state: null, reason: null, code: null, output: null, word: null, inverse: null, takenBackAs: null },
  },
};

const entry: Model = {
  defaults: {
    ...{ actor: null, undoes: null, isLeft: false, isTold: false, compensationBegun: false, shared: null },
    ...{ endOfJoined: null, isCarried: false, settledAs: null, child: null },
  },
  members: { actor: waiting, child },
};

export const sagaModel: Model = {
  defaults: {
    ...{ entries: [], compensation: null, asked: null, isTerminated: false, isFrozen: false, fault: null, moves: 0 },
    ...{ kept: [], heldBy: [], parent: null },
  },
  members: { chart },
  each: { entries: entry },
};
