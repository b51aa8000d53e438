/** What a worker process is told that shall freeze while one of its writes is on its way, or block, and what it says. */

import { operation, type Duration } from 'sagacity';
import type { StatementName } from '../../src/adapters/postgres/executor.ts';
import { aided } from '../support/company.ts';

/** Where it freezes, each at the first time that it comes there. */
export type Write =
  /** With the start of the first attempt. */
  | 'birth'
  | 'start'
  | 'end'
  | 'look-up'
  /** A turn of a saga that ends one step and begins the next one. */
  | 'saga'
  /** While a request of its is on its way. */
  | 'renewal'
  | 'claim'
  | 'hand-over';

/** The statement with which each is written. */
export const statementOf = {
  ...{ birth: 'turn', start: 'turn', end: 'turn', 'look-up': 'turn', saga: 'saga-turn' },
  ...{ renewal: 'renew', claim: 'claim-due', 'hand-over': 'hand-over' },
} as const satisfies Readonly<Record<Write, StatementName>>;

export interface FrozenTask {
  /** By way of a network that can hold back what is sent there. */
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly providerUrl: string;
  readonly times: Times;
  /** Submitted there, if anything is; it serves both. */
  readonly submits: { readonly what: 'charge' | 'payment'; readonly orderId: string } | null;
  readonly freezes: Write | null;
  /** Keeps its event loop busy there until this file exists. */
  readonly blocks: { readonly at: 'recorded start' | 'reply'; readonly until: string } | null;
}

/**
 * About to write, it goes on when the test says so, and freezes as the statement leaves. When it has its answer, it says
 * that and goes on when the test says so.
 */
export type Word = 'about to write' | 'written' | 'refused' | 'blocked' | `submitted: ${string}`;

export interface Times {
  readonly sendWithin: Duration;
  readonly timeout: Duration;
}

/** Nothing ends or is refused because its time is over: what is shown is due to the claim alone. */
export const unhurried: Times = { sendWithin: '1m', timeout: '1m' };

/** Short, so that a worker that is away is soon found dead. */
export const briefHeartbeat = { every: '200ms', timeout: '1s' } as const;

export function chargeAt(
  url: string,
  times: Times,
  { onSend = () => {}, onReply = () => {} }: { readonly onSend?: () => void; readonly onReply?: () => void } = {},
) {
  const usual = aided(url, 'charges');
  return operation('card.charge', {
    ...usual,
    ...times,
    async execute(context) {
      onSend();
      const outcome = await usual.execute(context);
      onReply();
      return outcome;
    },
  });
}
