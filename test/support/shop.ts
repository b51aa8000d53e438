/** The shop of the specifications: it charges cards at the scripted provider, over HTTP as a service would. */

import { absent, failed, found, inconclusive, operation, succeeded, typed } from 'sagacity';

export interface Payment {
  readonly orderId: string;
  readonly amount: number;
}

/** How a charge is described; every part can be replaced by a specification. */
export interface ChargeOptions {
  readonly action?: string;
  readonly keyRetention?: '24h' | '1h' | 'none';
  /** `'none'`: the provider cannot be asked. */
  readonly lookup?:
    | { readonly visibleWithin?: '30s' | '1s'; readonly arrivalLimit?: '1m' | '2h'; readonly giveUpAfter?: '1h' }
    | 'none';
  /** A path of the provider that ignores keys. */
  readonly keyless?: boolean;
  readonly timeout?: '10s' | '1s';
  readonly attempts?: number;
  /** Called before each request leaves, with its key. */
  readonly onSend?: (key: string) => void | Promise<void>;
}

/**
 * A charge at the provider of `url`. A 402 is a refusal; every other reply that is not a success proves nothing, and
 * is thrown.
 */
export function chargeCard(url: string, options: ChargeOptions = {}) {
  const payments = `${url}${options.keyless === true ? '/keyless' : ''}/payments`;
  const lookup = options.lookup ?? {};
  return operation(options.action ?? 'card.charge', {
    input: typed<Payment>(),
    key: ({ input }) => input.orderId,
    async execute({ input, idempotencyKey, abortSignal }) {
      await options.onSend?.(idempotencyKey);
      const reply = await fetch(payments, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify(input),
        signal: abortSignal,
      });
      if (reply.status === 402) return failed('card_declined');
      if (!reply.ok) throw new Error(`The provider replied ${reply.status}.`);
      const { id } = await recordIn(reply);
      return succeeded({ chargeId: id }, { reference: id });
    },
    keyRetention: options.keyRetention ?? '24h',
    lookup:
      lookup === 'none'
        ? 'none'
        : {
            visibleWithin: lookup.visibleWithin ?? '30s',
            ...(lookup.arrivalLimit === undefined ? {} : { arrivalLimit: lookup.arrivalLimit }),
            ...(lookup.giveUpAfter === undefined ? {} : { giveUpAfter: lookup.giveUpAfter }),
            async find({ input, idempotencyKey, abortSignal }) {
              const where =
                options.keyless === true
                  ? `${payments}?reference=${encodeURIComponent(input.orderId)}`
                  : `${payments}/by-idempotency-key/${encodeURIComponent(idempotencyKey)}`;
              const reply = await fetch(where, { signal: abortSignal });
              if (reply.status === 404) return absent();
              if (!reply.ok) return inconclusive(`the look-up was answered ${reply.status}`);
              const ids = await idsIn(reply);
              const [first, ...more] = ids.map((id) => succeeded({ chargeId: id }, { reference: id }));
              return first === undefined ? absent() : found(first, ...more);
            },
          },
    timeout: options.timeout ?? '10s',
    retry: { attempts: options.attempts ?? 3, backoff: 'fixed', delay: '1s', jitter: 'none' },
  });
}

async function recordIn(reply: Response): Promise<{ id: string }> {
  const record: unknown = await reply.json();
  if (typeof record === 'object' && record !== null && 'id' in record && typeof record.id === 'string') {
    return { id: record.id };
  }
  throw new Error('The reply holds no record.');
}

/** A look-up answers one record, with `others` beside it when there are several, or a list of `records`. */
async function idsIn(reply: Response): Promise<readonly string[]> {
  const body: unknown = await reply.json();
  if (typeof body !== 'object' || body === null) return [];
  const records =
    'records' in body ? body.records : [body, ...('others' in body && Array.isArray(body.others) ? body.others : [])];
  if (!Array.isArray(records)) return [];
  return records.flatMap((record: unknown) =>
    typeof record === 'object' && record !== null && 'id' in record && typeof record.id === 'string' ? [record.id] : [],
  );
}
