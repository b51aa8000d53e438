/**
 * Replies that prove what is wanted: the rules of a contract read backwards. The contract is the authority: whatever is
 * made here has been read by it and found to prove just that.
 */

import { type Contract, type Proven, type ReplyRule, type StatusMatch } from '../../domain/contract.ts';
import { verdictOf } from '../../domain/reply.ts';
import { isObject, type JsonObject } from '../provider/payload.ts';

export interface Told {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** What HTTP has for it, where no rule says something else. */
const byHttp: { readonly [Proof in Proven]?: number } = { done: 201, refused: 402, 'not-done': 429, unknown: 500 };

/** The reply by which this provider says so, with `more` in its body; throws where it has none. */
export function replyThat(contract: Contract, proves: Proven, more: JsonObject = {}): Told {
  const status = byHttp[proves];
  const plain = status === undefined ? [] : [{ status, headers: {}, body: more }];
  const ruled = contract.replies
    .filter((rule) => rule.proves === proves)
    .flatMap((rule) => statusesOf(rule).map((each) => toldBy(rule, each, more)));
  // Rules about successes and about what proves nothing are about special ones.
  const isPlain = proves === 'done' || proves === 'unknown';
  const candidates = (isPlain ? [...plain, ...ruled] : [...ruled, ...plain]).map((told) =>
    proves === 'refused' ? withCode(contract, told) : told,
  );
  const told = candidates.find((candidate) => provenBy(contract, candidate) === proves);
  if (told === undefined) throw new Error(`The contract ${contract.name} has no reply that proves ${proves}.`);
  return told;
}

/** What the contract makes of it. */
function provenBy(contract: Contract, { body, ...told }: Told): string {
  return verdictOf(contract, { type: 'reply', ...told, body: { type: 'whole', value: body } }, 0).proves;
}

function statusesOf({ status, proves }: ReplyRule): readonly number[] {
  const matches: readonly StatusMatch[] = status === undefined ? [] : [status].flat();
  if (matches.length === 0) return [byHttp[proves] ?? 409];
  return matches.map((match) => (typeof match === 'number' ? match : Number(match[0]) * 100));
}

function toldBy(rule: ReplyRule, status: number, more: JsonObject): Told {
  const headers = Object.entries(rule.headers ?? {}).map(([name, value]) => [name, given(value)]);
  const body = Object.entries(rule.body ?? {}).map(([path, value]) => under(path.split('.'), given(value)));
  return { status, headers: Object.fromEntries(headers), body: asObject([...body, more].reduce(merged, {})) };
}

/** `*` stands for anything. */
function given<Value>(value: Value): Value | 'something' {
  return value === '*' ? 'something' : value;
}

function withCode({ codeAt }: Contract, told: Told): Told {
  if (codeAt === null) return told;
  return { ...told, body: asObject(merged(under(codeAt.split('.'), 'declined'), told.body)) };
}

/** The value where the path leads: `a.0.b` is a member of the first of a list. */
export function under(path: readonly string[], value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const inner = under(rest, value);
  if (!/^\d$/.test(name)) return { [name]: inner };
  return Array.from({ length: Number(name) + 1 }, (_, at) => (at === Number(name) ? inner : {}));
}

/** Both together; where they disagree, the second. */
export function merged(one: unknown, other: unknown): unknown {
  if (Array.isArray(one) && Array.isArray(other)) {
    return Array.from({ length: Math.max(one.length, other.length) }, (_, at) =>
      merged(one[at] ?? {}, other[at] ?? {}),
    );
  }
  if (!isObject(one) || !isObject(other)) return other;
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  return Object.fromEntries(
    names.map((name) => [
      name,
      name in one && name in other ? merged(one[name], other[name]) : (other[name] ?? one[name]),
    ]),
  );
}

function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}
