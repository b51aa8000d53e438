/**
 * The shop's operations, one for each provider of the plan: they charge an order. Their executors do what executors of
 * users do, and decide nothing; what the provider says is told as it is.
 */

import { type Finding, type Outcome } from '../../src/domain/outcome.ts';
import { typed, operation, type Saga } from '../../src/index.ts';
import type { AttemptContext, LookupContext, Operation } from '../../src/define/operation.ts';
import type { Schema } from '../../src/define/schema.ts';
import { type ByHttp, COMPANY, contractOf } from './contracts.ts';
import { executeByHttp, findByHttp } from './http-shop.ts';
import type { Promised } from './plan.ts';
import type { Process } from './process.ts';
import type { Provider } from './provider.ts';
import { sharedActions } from './saga-plan.ts';
import { sagasFor, undoing } from './saga-shop.ts';

/** What is submitted. Its values are such as JSON cannot carry by itself. */
export interface Order {
  readonly tenant: string;
  readonly order: string;
  readonly amount: bigint;
  readonly placed: Date;
  readonly note?: string | undefined;
}

/** What a charge brings back. */
export interface Charged {
  readonly receipt: string;
  readonly amount: bigint;
  readonly fee: number;
  readonly note: string | undefined;
  /** Set on what cannot be used: the schema refuses it. */
  readonly broken?: true;
}

const charged: Schema<Charged> = {
  '~standard': {
    version: 1,
    vendor: 'simulator',
    validate: (value) =>
      // Made by the provider below, or by a person who has read its ledger.
      (value as Charged).broken === true ? { issues: [{ message: 'it is broken' }] } : { value: value as Charged },
  },
};

/** What can be submitted, by action or by the name of the saga. */
export type Definitions = ReadonlyMap<string, Operation | Saga>;

/** The definitions as one process has them. */
export function definitionsFor(process: Process, provider: Provider): Definitions {
  const { promised, sagas } = process.course.plan;
  const alone = promised.map((one): [string, Operation] => [one.action, definitionOf(one, process, provider, null)]);
  const ofSagas = new Map(sagas.promised.map((one) => [one.action, one]));
  const operationOf = (action: string, inverse: Operation | null): Operation => {
    const one = ofSagas.get(action);
    if (one === undefined) throw new Error(`Nobody has promised ${action}.`);
    return definitionOf(one, process, provider, inverse);
  };
  return new Map<string, Operation | Saga>([...alone, ...sagasFor(sagas, operationOf, process.isBrokenAt)]);
}

function definitionOf(promised: Promised, process: Process, provider: Provider, inverse: Operation | null): Operation {
  const soundly = (given: Parameters<typeof undoing>[0]) => {
    if (process.isBrokenAt('an inverse')) throw new Error('an inverse is broken');
    return undoing(given);
  };
  const common = {
    input: typed<Order>(),
    output: charged,
    key: ({ input }: { readonly input: Order }) => input.order,
    timeout: promised.timeoutMs,
    sendWithin: promised.sendWithinMs,
    ...(sharedActions.includes(promised.action) ? { shared: true } : {}),
    ...(inverse === null ? {} : { compensate: { operation: inverse, input: soundly } }),
  };
  const defined =
    promised.http === null
      ? operation(promised.action, { ...common, ...byItself(promised, process, provider) })
      : operation(promised.action, { ...common, ...byHttp(promised, promised.http, process) });
  // What the simulator submits with it is what it takes; the static types have done their part above.
  return defined as unknown as Operation;
}

/** By a client of its own: the definition says what is known of its provider. */
function byItself(promised: Promised, process: Process, provider: Provider) {
  const { lookup } = promised;
  return {
    execute: (attempt: AttemptContext<Order>): Promise<Outcome<Charged, string>> =>
      provider.execute(process, promised, attempt),
    keyRetention: promised.keyRetentionMs ?? ('none' as const),
    lookup:
      lookup === null
        ? ('none' as const)
        : {
            visibleWithin: lookup.visibleWithinMs,
            ...(lookup.arrivalLimitMs === null ? {} : { arrivalLimit: lookup.arrivalLimitMs }),
            every: lookup.everyMs,
            giveUpAfter: lookup.giveUpAfterMs,
            find: (asked: LookupContext<Order>): Promise<Finding<Charged, string>> =>
              provider.find(process, promised, asked),
          },
    retry: { attempts: promised.attempts, delay: promised.pauseMs },
  };
}

/** By `http`: the contract says it. */
function byHttp(promised: Promised, http: ByHttp, { contractVersion }: Process) {
  const { action, lookup } = promised;
  return {
    execute: executeByHttp(action),
    contract: contractOf(promised, http, contractVersion),
    ...(lookup === null
      ? {}
      : { lookup: { every: lookup.everyMs, giveUpAfter: lookup.giveUpAfterMs, find: findByHttp(action) } }),
    retry: { attempts: promised.attempts, delay: promised.pauseMs, maxDelay: http.maxPauseMs },
    provider: COMPANY,
  };
}
