/**
 * Processes of several releases on one database, and what they sell: the parent's side, and what both sides know. Which
 * formats a release reads and writes is built into its program, as it is with real ones; all else is this library as it is.
 */

import { fileURLToPath } from 'node:url';
import { absent, failed, found, notApplied, operation, saga, signal, succeeded, typed } from 'sagacity';
import { type Bundle, bundled } from '../kill/bundle.ts';
import { beginSpeaking } from './speaking-process.ts';

/**
 * `before`: reads and writes format 1. `between`: reads 1 and 2, and writes 1. `now`: this one, which reads both and writes
 * 2.
 */
export type Release = 'before' | 'between' | 'now';

export interface Order {
  readonly orderId: string;
  readonly of?: string;
}

export type Sold = 'purchase' | 'approval' | 'email';

export interface SellingTask {
  readonly databaseUrl: string;
  readonly providerUrl: string;
}

export type Asked =
  | { readonly asks: 'sell'; readonly what: Sold; readonly orderIds: readonly string[] }
  | { readonly asks: 'approve'; readonly orderIds: readonly string[] }
  | { readonly asks: 'results'; readonly what: Sold; readonly orderIds: readonly string[] }
  | { readonly asks: 'stop' };

/** A result, or the code of the error and what it names. */
export interface Told {
  readonly orderId: string;
  readonly state: string;
  readonly status: string;
  readonly facts?: Readonly<Record<string, unknown>>;
}

export type Said =
  | { readonly says: 'at work' | 'sold' | 'approved' | 'stopped' }
  | { readonly says: 'results'; readonly results: readonly Told[] };

export interface Seller {
  /** What it answers, once. */
  ask<Word extends Said['says']>(asked: Asked, word: Word): Promise<Extract<Said, { readonly says: Word }>>;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

const approved = signal('approved', { payload: typed<{ readonly by: string }>() });

/** What a shop sells: some of it is looked up when its reply is lost, some is sent again under its key. */
export function goodsAt(url: string) {
  const described = (kind: string, isLookedUp: boolean) => ({
    input: typed<Order>(),
    key: ({ input }: { readonly input: Order }) => input.orderId,
    async execute({ input, idempotencyKey, abortSignal }: Sent) {
      const reply = await fetch(`${url}/${kind}s`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify(input),
        signal: abortSignal,
      });
      if (reply.status === 402) return failed('declined');
      if (reply.status === 409) return notApplied('the provider is busy');
      if (!reply.ok) throw new Error(`The provider replied ${reply.status}.`);
      const { id } = (await reply.json()) as { id: string };
      return succeeded({ id }, { reference: id });
    },
    keyRetention: '24h' as const,
    lookup: isLookedUp
      ? {
          ...({ visibleWithin: '10ms', arrivalLimit: '10ms', every: '200ms' } as const),
          async find({ idempotencyKey }: Pick<Sent, 'idempotencyKey'>) {
            const reply = await fetch(`${url}/${kind}s/by-idempotency-key/${idempotencyKey}`);
            if (reply.status === 404) return absent();
            const { id } = (await reply.json()) as { id: string };
            return found(succeeded({ id }, { reference: id }));
          },
        }
      : ('none' as const),
    ...({ sendWithin: '1s', timeout: '1s' } as const),
    retry: { attempts: 10, backoff: 'fixed', delay: '200ms', jitter: 'none' } as const,
  });
  const takingBack = ({ input, output }: { readonly input: Order; readonly output: { readonly id: string } }) => ({
    orderId: input.orderId,
    of: output.id,
  });
  const voiding = operation('payment.void', described('void', false));
  const releasing = operation('stock.release', described('release', true));
  const refunding = operation('payment.refund', described('refund', false));
  const authorise = operation('payment.authorise', {
    ...described('authorisation', false),
    compensate: { operation: voiding, input: takingBack },
  });
  const reserve = operation('stock.reserve', {
    ...described('reservation', true),
    compensate: { operation: releasing, input: takingBack },
  });
  const pay = operation('payment.take', {
    ...described('payment', false),
    compensate: { operation: refunding, input: takingBack },
  });
  const identity = { input: typed<Order>(), key: ({ input }: { readonly input: Order }) => input.orderId };
  return {
    approved,
    email: operation('email.send', described('email', true)),
    purchase: saga('purchase', identity)
      .step('money', authorise, ({ input }) => input)
      .step('goods', reserve, ({ input }) => input)
      .step('payment', pay, ({ input }) => input),
    approval: saga('approval', identity)
      .step('money', authorise, ({ input }) => input)
      .waitFor('approval', approved, { within: '1h', otherwise: 'compensate' })
      .step('goods', reserve, ({ input }) => input),
  };
}

interface Sent {
  readonly input: Order;
  readonly idempotencyKey: string;
  readonly abortSignal: AbortSignal;
}

const program = pathOf('releases.child.ts');
const written = pathOf('../../src/orchestrator/stored.ts');
const formats = pathOf('../../src/domain/format.ts');
const encoderOfFormat1 = `export * from ${JSON.stringify(pathOf('../fixtures/format-1.ts'))};`;

function formatsOf(reads: readonly number[]): string {
  return `
    export const FORMAT_WRITTEN = 1;
    export const FORMATS_READ = ${JSON.stringify(reads)};
    export const isReadable = ({ format }) => FORMATS_READ.includes(format);
  `;
}

/** The program of a release, for `beginSeller`. */
export function released(release: Release): Promise<Bundle> {
  if (release === 'now') return bundled(program);
  const reads = release === 'before' ? [1] : [1, 2];
  return bundled(
    program,
    new Map([
      [written, encoderOfFormat1],
      [formats, formatsOf(reads)],
    ]),
  );
}

/** Begins a process of a release; resolves when it works. */
export async function beginSeller(bundle: Bundle, task: SellingTask): Promise<Seller> {
  const { child, words, hasSaid, kill } = beginSpeaking<Said>(bundle.path, task);
  const said: <Word extends Said['says']>(word: Word) => Promise<Extract<Said, { readonly says: Word }>> = async (
    word,
  ) => {
    await hasSaid(word);
    // It is there; each is heard once.
    const place = words.findIndex(({ says }) => says === word);
    return words.splice(place, 1)[0] as Extract<Said, { readonly says: typeof word }>;
  };
  await said('at work');
  return {
    async ask(asked, word) {
      child.send(asked);
      return await said(word);
    },
    kill,
  };
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
