/**
 * What the other companies say of keys and replies where requests go to them by `http`: one contract for each way in
 * which the companies of the world do it. A second version of each puts the key elsewhere, so that it shows which of them
 * a request was made by.
 */

import { contract } from '../../src/define/contract.ts';
import { type Contract, type ReplyRule, type SameKey, writtenKey } from '../../src/domain/contract.ts';
import { valueAt } from '../../src/domain/reply.ts';
import type { Outgoing } from '../../src/providers/arrival.ts';
import type { Promised } from './plan.ts';

/** What companies that know keys do with a second request under one. */
export const keyedKinds = [
  // Its first reply again, whatever that was.
  'replaying',
  // What did not succeed is forgotten.
  'success-only',
  // What was interrupted goes on.
  'resuming',
  // It says that it is done, and which record it is.
  'telling',
  // It refuses what was first sent too long ago.
  'tracking',
] as const;

export type ContractKind = (typeof keyedKinds)[number] | 'unkeyed';

/** How requests to a provider are sent, and what it says of its replies. */
export interface ByHttp {
  readonly kind: ContractKind;
  /** The longest pause between attempts. */
  readonly maxPauseMs: number;
}

/** The company that they all go to: it is ill, or well, as a whole. */
export const COMPANY = 'card-company';

export const versions = ['1', '2'] as const;
export type Version = (typeof versions)[number];

const headers = { 1: 'Idempotency-Key', 2: 'Another-Key' } as const;
const members = { 1: 'key', 2: 'another.key' } as const;

/** Said beside the key by a company that refuses what comes too late. */
const FIRST_SENT = 'First-Sent';

const sameKeys: Readonly<
  Record<(typeof keyedKinds)[number], Pick<SameKey, 'afterSuccess' | 'afterRefusal' | 'afterServerError'>>
> = {
  replaying: { afterSuccess: 'first-reply', afterRefusal: 'first-reply', afterServerError: 'first-reply' },
  'success-only': { afterSuccess: 'first-reply', afterRefusal: 're-executes', afterServerError: 're-executes' },
  resuming: { afterSuccess: 'current-state', afterRefusal: 'first-reply', afterServerError: 'resumes' },
  telling: { afterSuccess: 'told', afterRefusal: 'unsaid', afterServerError: 'unsaid' },
  tracking: { afterSuccess: 'first-reply', afterRefusal: 'first-reply', afterServerError: 're-executes' },
};

/** By its rate limit, or because it is down before it looks at anything. */
const everywhere: readonly ReplyRule[] = [
  { status: 401, proves: 'locked-out' },
  { status: 503, headers: { 'transient-error': 'true' }, proves: 'not-done' },
];

const repliesOf: Readonly<Record<ContractKind, readonly ReplyRule[]>> = {
  replaying: [{ status: 402, proves: 'refused', speaksFor: 'key' }],
  'success-only': [],
  resuming: [{ status: 402, proves: 'refused', speaksFor: 'key' }],
  telling: [{ status: 409, body: { existing: '*' }, proves: 'done-before' }],
  tracking: [{ status: 412, proves: 'too-late' }],
  unkeyed: [],
};

/** What its company says, in one of the versions of that. */
export function contractOf({ action, keyRetentionMs, lookup }: Promised, { kind }: ByHttp, version: Version): Contract {
  const said = { name: action, version, docs: 'https://docs.card-company.example', verified: 'unverified' };
  const rules = [...repliesOf[kind], ...everywhere];
  const asked = (by: 'key' | 'reference') =>
    lookup === null
      ? ('none' as const)
      : {
          by,
          visibleWithin: lookup.visibleWithinMs,
          ...(lookup.arrivalLimitMs === null ? {} : { arrivalLimit: lookup.arrivalLimitMs }),
        };
  const shared = { ...said, codeAt: 'error.code', replayHeader: 'Replayed' };
  if (kind === 'unkeyed') return contract({ ...shared, key: 'none', lookup: asked('reference'), replies: rules });
  return contract({
    ...shared,
    key:
      kind === 'success-only'
        ? { in: 'body', name: members[version] }
        : {
            ...{ in: 'header', name: headers[version], encoding: kind === 'resuming' ? 'sf-string' : 'raw' },
            ...(kind === 'tracking' ? { firstSentHeader: FIRST_SENT } : {}),
          },
    keyRetention: keyRetentionMs ?? 'unsaid',
    sameKey: { ...sameKeys[kind], whileRunning: 'refused', otherParameters: 'refused' },
    lookup: asked('key'),
    replies: [...rules, { status: 409, proves: 'running' }, { status: 422, proves: 'key-conflict' }],
  });
}

/** A refusal is given again to every request under its key. */
export function repeatsRefusals(kind: ContractKind): boolean {
  return kind !== 'unkeyed' && sameKeys[kind].afterRefusal === 'first-reply';
}

/** What it says of a refusal holds for all that was sent under its key. */
export function speaksForKey(kind: ContractKind): boolean {
  return repliesOf[kind].some(({ speaksFor }) => speaksFor === 'key');
}

export function afterServerError(kind: ContractKind): SameKey['afterServerError'] {
  return kind === 'unkeyed' ? 'unsaid' : sameKeys[kind].afterServerError;
}

/** The version by whose contract the key of a request stands where it does; null: it has none, or not this one. */
export function versionIn(contracts: ReadonlyMap<Version, Contract>, key: string, sent: Outgoing): Version | null {
  for (const [version, { key: place }] of contracts) {
    if (place === null) continue;
    const there = place.in === 'header' ? sent.headers[place.name.toLowerCase()] : valueAt(bodyOf(sent), place.name);
    if (there === writtenKey(place, key)) return version;
  }
  return null;
}

/** What the executors of the simulator send is JSON. */
export function bodyOf({ body }: Outgoing): unknown {
  return typeof body === 'string' ? JSON.parse(body) : null;
}

/** When a request says that the first one left. */
export function firstSentIn({ headers: said }: Outgoing): number | null {
  const text = said[FIRST_SENT.toLowerCase()];
  return text === undefined ? null : Date.parse(text);
}
