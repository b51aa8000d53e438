/**
 * What a reply proves, or the lack of one. A pure function of the contract and of what was seen at the boundary where
 * requests leave; codes of errors are not asked, because one and the same was seen of what never left and of what had
 * happened. Whatever neither the contract nor HTTP says for certain is unknown.
 */

import type { Contract, Proven, ReplyRule, SameKey, StatusMatch } from './contract.ts';

/** What was seen of one request. */
export type Reply =
  /** It never left: the gate stayed shut. */
  | { readonly type: 'not-sent' }
  /** It left, or began to, and no status came. `refusedStream`: the peer says by protocol that it did not look at it. */
  | { readonly type: 'none'; readonly refusedStream: boolean }
  | {
      readonly type: 'reply';
      readonly status: number;
      /** By lower-case name. */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: ReplyBody;
    };

/** `whole`: as the provider sent it, JSON where it was some. `broken`: cut off, too large, or not what it should be. */
export type ReplyBody =
  | { readonly type: 'whole'; readonly value: unknown }
  | { readonly type: 'broken'; readonly reason: string };

/** What follows from it for the attempt. No text of the reply is in it, except a code of letters and digits. */
export interface Verdict {
  readonly proves: Proven | 'not-sent' | 'unreadable';
  /** For people: `status 503`, `no reply`. */
  readonly reason: string;
  /** Of a refusal. */
  readonly code: string | null;
  readonly speaksFor: 'send' | 'key';
  /** Whether it can be sent again under the same key without asking first; only of what proves nothing. */
  readonly sendAgain: 'unasked' | 'ask-first';
  /** The provider asks for this pause; null: it does not. */
  readonly retryAfterMs: number | null;
  /** The reply says that it was given before. */
  readonly isReplay: boolean;
}

/** A provider may ask for a longer pause; a person should see that, not a timer. */
export const RETRY_AFTER_MAX_MS = 86_400_000;

/** `now`: by the wall clock here, for a date in `Retry-After` where the reply has none of its own. */
export function verdictOf(contract: Contract | null, reply: Reply, now: number): Verdict {
  switch (reply.type) {
    case 'not-sent':
      return { ...nothing, proves: 'not-sent', reason: 'it was not sent' };
    case 'none':
      return reply.refusedStream
        ? { ...nothing, proves: 'not-done', reason: 'the stream was refused' }
        : { ...nothing, proves: 'unknown', reason: 'no reply', sendAgain: sendAgainAfter(contract, null) };
    case 'reply': {
      const { status } = reply;
      const rule = contract?.replies.find((one) => fits(one, reply));
      const proves = readable(rule?.proves ?? byStatus(status), reply.body);
      return {
        proves,
        reason: proves === 'unreadable' ? `a success that cannot be read (status ${status})` : `status ${status}`,
        code: proves === 'refused' ? codeOf(contract, rule, reply) : null,
        speaksFor: rule?.speaksFor ?? 'send',
        sendAgain: rule?.sendAgain ?? sendAgainAfter(contract, { status, proves }),
        retryAfterMs: retryAfterOf(reply.headers, now),
        isReplay: contract?.replayHeader != null && headerOf(reply.headers, contract.replayHeader) !== undefined,
      };
    }
  }
}

const nothing: Omit<Verdict, 'proves' | 'reason'> = {
  code: null,
  speaksFor: 'send',
  sendAgain: 'ask-first',
  retryAfterMs: null,
  isReplay: false,
};

/** It has happened, by this send or by one before it. */
export function saysDone(proves: Verdict['proves']): boolean {
  return proves === 'done' || proves === 'done-before';
}

/** A success is one when it can be read; of what a broken body would have said otherwise, the status tells enough. */
function readable(proves: Proven, body: ReplyBody): Proven | 'unreadable' {
  return saysDone(proves) && body.type === 'broken' ? 'unreadable' : proves;
}

/**
 * By HTTP alone. That credentials are missing (401, 403, 407, 511) is unknown: it says who refused, and not when; where
 * the provider looks at them first, its contract says so.
 */
function byStatus(status: number): Proven {
  if (status === 202) return 'accepted';
  if (status >= 200 && status < 300) return 'done';
  if (NOT_DONE.has(status)) return 'not-done';
  return REFUSED.has(status) ? 'refused' : 'unknown';
}

/** Misdirected, too early, too many: what says so has not let it through. */
const NOT_DONE: ReadonlySet<number> = new Set([421, 425, 429]);
const REFUSED: ReadonlySet<number> = new Set([400, 402, 404, 405, 411, 413, 414, 415, 422, 431, 501, 505]);

/**
 * Under the same key the provider makes two sends one effect, which is safe as long as it remembers the first. After a
 * server error that is the question: where it forgets what did not succeed, it would do again what it may have done;
 * and where it repeats its first answer, it teaches nothing.
 */
function sendAgainAfter(
  contract: Contract | null,
  seen: { readonly status: number; readonly proves: Proven | 'unreadable' } | null,
): 'unasked' | 'ask-first' {
  const sameKey = contract?.keyRetentionMs == null ? null : contract.sameKey;
  if (sameKey === null) return 'ask-first';
  if (seen === null || seen.status === 408) return 'unasked';
  if (seen.proves === 'running' || seen.proves === 'unreadable') return 'unasked';
  if (seen.status < 500) return 'ask-first';
  // The 500 is the provider's own; the others may come from what stands before it, and its own answer is still to be had.
  const safe = seen.status === 500 ? sameKey.afterServerError === 'resumes' : remembersErrors(sameKey);
  return safe ? 'unasked' : 'ask-first';
}

/** It keeps what it began under a key, whether that succeeded or not. */
function remembersErrors({ afterServerError }: SameKey): boolean {
  return afterServerError === 'first-reply' || afterServerError === 'resumes';
}

type Answered = Extract<Reply, { type: 'reply' }>;
type Headers = Answered['headers'];

function fits(rule: ReplyRule, { status, headers, body }: Answered): boolean {
  if (rule.status !== undefined && ![rule.status].flat().some((match) => hasStatus(match, status))) return false;
  for (const [name, value] of Object.entries(rule.headers ?? {})) {
    const given = headerOf(headers, name);
    if (given === undefined || (value !== '*' && given.toLowerCase() !== value.toLowerCase())) return false;
  }
  for (const [path, value] of Object.entries(rule.body ?? {})) {
    const there = body.type === 'whole' ? valueAt(body.value, path) : undefined;
    if (there === undefined || (value !== '*' && there !== value)) return false;
  }
  return true;
}

function hasStatus(match: StatusMatch, status: number): boolean {
  return typeof match === 'number' ? match === status : Math.floor(status / 100) === Number(match[0]);
}

/** What stands at a path such as `errors.0.code`; undefined: nothing, or nothing of its own. */
export function valueAt(value: unknown, path: string): unknown {
  let there = value;
  for (const name of path.split('.')) {
    if (typeof there !== 'object' || there === null || !Object.hasOwn(there, name)) return undefined;
    // Whatever is there: JSON that somebody else wrote.
    there = (there as Readonly<Record<string, unknown>>)[name];
  }
  return there;
}

/** A code goes into logs and lists, so it is taken only where it looks like one. */
function codeOf(contract: Contract | null, rule: ReplyRule | undefined, { status, body }: Answered): string {
  if (rule?.code !== undefined) return rule.code;
  const path = contract?.codeAt;
  const told = path != null && body.type === 'whole' ? valueAt(body.value, path) : undefined;
  return isCode(told) ? told : `http-${status}`;
}

/** Of letters and digits, and not one that only has digits, as numbers of cards do. */
export function isCode(value: unknown): value is string {
  return typeof value === 'string' && CODE.test(value);
}

const CODE = /^[A-Za-z][A-Za-z0-9_.-]{0,99}$/;

/** Seconds, or a date, which is read by the clock of whoever wrote it if that is shown; null: neither. */
function retryAfterOf(headers: Headers, now: number): number | null {
  const given = headerOf(headers, 'retry-after')?.trim() ?? '';
  const ms = /^\d+$/.test(given) ? Number(given) * 1000 : dateOf(given) - (dateOf(headerOf(headers, 'date')) || now);
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS);
}

/** As HTTP writes dates; NaN for anything else, of which `Date.parse` would make a year or a month. */
function dateOf(text = ''): number {
  return /^[A-Z][a-z]+, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN;
}

/** Its own only: what all objects have stands in no reply. */
function headerOf(headers: Headers, name: string): string | undefined {
  return Object.hasOwn(headers, name) ? headers[name] : undefined;
}
