/**
 * A charge whose attempts say what a specification has written down, whatever the provider really did. The ledger of
 * the provider stays the proof; a step that lies about it shows what the library makes of a liar.
 */

import {
  absent,
  type Duration,
  failed,
  type Finding,
  found,
  inconclusive,
  type LookupContext,
  operation,
  type Outcome,
  type Schema,
  succeeded,
  typed,
} from 'sagacity';
import type { Contract } from '../../src/domain/contract.ts';
import type { Payment } from './shop.ts';

/** What the provider answered. A reply that never came, or that is no JSON, is thrown instead. */
export interface Reply {
  readonly status: number;
  readonly id: string | null;
}

/** One attempt as a step sees it. */
export interface Sending {
  readonly input: Payment;
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly abortSignal: AbortSignal;
  /** Sends the charge for real. A stubborn request is not given up when the attempt is. */
  readonly send: (how?: { readonly stubborn?: boolean }) => Promise<Reply>;
}

export type Step = (sending: Sending) => unknown;

export interface Script {
  readonly action?: string;
  readonly key?: (input: Payment) => string;
  /** One step an attempt; the last one stands for all that follow. By default every attempt charges. */
  readonly steps?: readonly Step[];
  readonly output?: Schema;
  /** What is known of the provider; then `keyRetention`, and what an answer is worth, are said there. */
  readonly contract?: Contract;
  readonly keyRetention?: Duration | 'none';
  /** `ask` replaces the question that goes to the provider. */
  readonly lookup?:
    | {
        readonly visibleWithin?: Duration;
        readonly arrivalLimit?: Duration;
        readonly every?: Duration;
        readonly giveUpAfter?: Duration;
        readonly ask?: (idempotencyKey: string) => Finding | Promise<Finding>;
      }
    | 'none';
  readonly timeout?: Duration;
  readonly attempts?: number;
}

export type ScriptedCharge = ReturnType<typeof scriptedCharge>;

/** The definition, and how many requests to the provider wait for a reply. */
export function scriptedCharge(url: string, script: Script = {}) {
  const payments = `${url}/payments`;
  const { steps = [charges], lookup = {}, keyRetention = '24h' } = script;
  let waiting = 0;
  const request = async (where: string, init: RequestInit): Promise<{ status: number; body: unknown }> => {
    waiting += 1;
    try {
      const reply = await fetch(where, init);
      return { status: reply.status, body: await reply.json() };
    } finally {
      waiting -= 1;
    }
  };
  const askProvider = async (idempotencyKey: string, signal: AbortSignal): Promise<Finding> => {
    const { status, body } = await request(`${payments}/by-idempotency-key/${idempotencyKey}`, { signal });
    if (status === 404) return absent();
    if (status !== 200) return inconclusive(`the look-up was answered ${status}`);
    const [first, ...more] = idsOf(body).map((id) => succeeded({ chargeId: id }, { reference: id }));
    return first === undefined ? inconclusive('the record has no id') : found(first, ...more);
  };
  const asking = (when: Exclude<typeof lookup, 'none'>) => ({
    every: when.every ?? ('5s' as const),
    ...(when.giveUpAfter === undefined ? {} : { giveUpAfter: when.giveUpAfter }),
    find: async ({ idempotencyKey, abortSignal }: LookupContext<Payment>): Promise<Finding> =>
      when.ask === undefined ? askProvider(idempotencyKey, abortSignal) : when.ask(idempotencyKey),
  });
  const stated = {
    keyRetention,
    lookup:
      lookup === 'none'
        ? lookup
        : {
            ...asking(lookup),
            visibleWithin: lookup.visibleWithin ?? ('30s' as const),
            ...(lookup.arrivalLimit === undefined ? {} : { arrivalLimit: lookup.arrivalLimit }),
          },
  } as const;
  const { contract } = script;
  const facts = contract === undefined ? stated : { contract, lookup: lookup === 'none' ? lookup : asking(lookup) };
  const definition = operation(script.action ?? 'card.charge', {
    input: typed<Payment>(),
    key: ({ input }) => script.key?.(input) ?? input.orderId,
    // A step may say anything at all; that it is no outcome is for the library to find out.
    execute: async ({ input, idempotencyKey, attempt, abortSignal }) =>
      (await steps[Math.min(attempt, steps.length) - 1]?.({
        ...{ input, idempotencyKey, attempt, abortSignal },
        async send({ stubborn = false } = {}) {
          const { status, body } = await request(payments, {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
            body: JSON.stringify(input),
            ...(stubborn ? {} : { signal: abortSignal }),
          });
          return { status, id: idsOf(body)[0] ?? null };
        },
      })) as Outcome,
    ...(script.output === undefined ? {} : { output: script.output }),
    ...facts,
    timeout: script.timeout ?? '10s',
    retry: { attempts: script.attempts ?? 3, backoff: 'fixed', delay: '1s', jitter: 'none' },
  });
  return { definition, waiting: () => waiting };
}

/** Charges and reports what the provider answered; every reply that is neither success nor refusal proves nothing. */
export const charges: Step = async ({ send }) => {
  const { status, id } = await send();
  if (status === 402) return failed('card_declined');
  if (status >= 300 || id === null) throw new Error(`The provider replied ${status}.`);
  return succeeded({ chargeId: id }, { reference: id });
};

/** Something that specifications wait for until it is opened. */
export function gate(): { readonly open: () => void; readonly passed: Promise<void> } {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, passed };
}

function idsOf(body: unknown): readonly string[] {
  if (typeof body !== 'object' || body === null) return [];
  const others = 'others' in body && Array.isArray(body.others) ? body.others : [];
  return [body, ...others].flatMap((record: unknown) =>
    typeof record === 'object' && record !== null && 'id' in record && typeof record.id === 'string' ? [record.id] : [],
  );
}
