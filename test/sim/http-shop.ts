/**
 * The executors and look-ups of what goes by `http`: they say what is sent and read what comes, as those of users do. What
 * a reply proves, and when it may be sent, they leave to the library.
 */

import type { AttemptContext, LookupContext } from '../../src/define/operation.ts';
import {
  absent,
  failed,
  type Finding,
  found,
  inconclusive,
  type Outcome,
  succeeded,
} from '../../src/domain/outcome.ts';
import type { Settling } from '../../src/domain/outcome.ts';
import type { Told } from './replies.ts';
import type { Charged, Order } from './shop.ts';

/** Under this every request says which attempt it is, and a look-up for which order. */
export const ATTEMPT = 'x-attempt';
export const FOR = 'x-for';

export function executeByHttp(action: string) {
  return ({ input, idempotencyKey, attempt, http }: AttemptContext<Order>): Promise<Outcome<Charged, string>> => {
    const { amount, ...said } = input;
    const headers = { [ATTEMPT]: `${idempotencyKey}/${attempt}` };
    return http.send<Outcome<Charged, string> | Promise<Outcome<Charged, string>>>(
      { url: `/${action}`, headers, json: { ...said, amount: String(amount) } },
      ({ status, body }) =>
        status === 409
          ? http.get({ url: `/${action}/${existingIn(body)}` }, (reply) => chargedIn(reply.body))
          : chargedIn(body),
    );
  };
}

export function findByHttp(action: string) {
  return ({
    input: { tenant, order },
    idempotencyKey,
    http,
  }: LookupContext<Order>): Promise<Finding<Charged, string>> =>
    http.ask<Finding<Charged, string>>(
      {
        url: `/${action}?key=${encodeURIComponent(idempotencyKey)}`,
        headers: { [FOR]: JSON.stringify({ tenant, order }) },
      },
      ({ status, body }) => (status === 404 ? absent() : foundIn(body)),
    );
}

function existingIn(body: unknown): string {
  // Of the company's making, in replies.ts.
  return (body as { readonly existing: string }).existing;
}

function chargedIn(body: unknown): Settling<Charged, string> {
  const { id, receipt, amount, broken } = body as Told;
  const output = {
    receipt,
    amount: BigInt(amount),
    fee: -0,
    note: undefined,
    ...(broken === undefined ? {} : { broken }),
  };
  return succeeded<Charged>(output, id === undefined ? {} : { reference: id });
}

function foundIn(body: unknown): Finding<Charged, string> {
  const { records, refused, forKey } = body as {
    readonly records: readonly Told[];
    readonly refused?: string;
    readonly forKey?: boolean;
  };
  const [first, ...more] = records.map(chargedIn);
  if (first !== undefined) return found(first, ...more);
  if (refused === undefined) return inconclusive();
  return found<Charged, string>(failed(refused, forKey === true ? { speaksFor: 'key' } : {}));
}
