/**
 * From what an executor asks for to the bytes that leave: the address below the provider's own, the key where the
 * contract puts it, the credentials of the moment. Whatever cannot be made so is refused before anything is sent.
 */

import { HEADER_NAME, type HttpRequest } from '../domain/http.ts';
import { type Contract, type ContractKey, writtenKey } from '../domain/contract.ts';
import type { Access } from './access.ts';
import type { Outgoing } from './arrival.ts';

/** For whom a request is made. */
export interface Caller {
  readonly tenant: string;
  /** The key of what it describes goes along, whatever the method; null: none does. */
  readonly contract: Contract | null;
  readonly idempotencyKey: string;
  /** Of an attempt. */
  readonly firstSentAt?: number;
}

/** What could not be made, in words that hold nothing of the request. */
export class Unsendable extends Error {}

export async function outgoingOf(
  request: HttpRequest,
  method: string,
  caller: Caller,
  access: Access,
): Promise<Outgoing> {
  const { contract, idempotencyKey, firstSentAt, tenant } = caller;
  const body = bodyOf(request);
  const headers: Record<string, string> = { ...body.headers, ...named(request.headers ?? {}) };
  if (access.credentials !== null) Object.assign(headers, named(await access.credentials({ tenant })));
  const key = contract?.key ?? null;
  const written = key === null ? '' : writtenKey(key, idempotencyKey);
  if (key?.in === 'header') headers[key.name.toLowerCase()] = written;
  if (key?.firstSentHeader != null && firstSentAt !== undefined) {
    headers[key.firstSentHeader.toLowerCase()] = new Date(firstSentAt).toUTCString();
  }
  const url = urlOf(request.url, access);
  return {
    ...{ method, headers, url: key?.in === 'query' ? withParameter(url, key.name, written) : url },
    body: body.bytes(key?.in === 'body' ? { key, written } : null),
  };
}

/** Connection, length and coding are the sender's, so that one request stays one. */
const OURS: ReadonlySet<string> = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

/** By lower-case name. What is no header at all is refused here, because it would be left out in silence. */
function named(headers: Readonly<Record<string, string>>): Record<string, string> {
  if (!isRecord(headers)) throw new Unsendable('its headers, or its credentials, are no plain object');
  const all = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  for (const [name, value] of all) {
    if (!HEADER_NAME.test(name)) throw new Unsendable('one of its headers has a name that is none');
    if (OURS.has(name)) throw new Unsendable(`the header ${name} is set by the sender`);
    if (!isText(value) || NOT_IN_HEADERS.test(value))
      throw new Unsendable(`its header ${name} is no text for a header`);
  }
  return Object.fromEntries(all);
}

const NOT_IN_HEADERS = /[^\t\x20-\x7e\x80-\xff]/;

/** Not `Headers`, a map or a list, of which nothing would be seen. */
function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !(Symbol.iterator in value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function urlOf(url: string, { url: base, origin }: Access): string {
  if (!URL.canParse(url)) {
    if (base === null) throw new Unsendable('its url is not absolute, and its provider has none');
    const below = `${base}/${url.replace(/^\//, '')}`;
    const [root, path] = [base, below].map((whole) => new URL(whole).pathname.replace(/\/$/, ''));
    if (`${path}/`.startsWith(`${root}/`)) return below;
    throw new Unsendable("its path leads out of its provider's url");
  }
  const parsed = new URL(url);
  if (parsed.protocol !== 'https:' && parsed.protocol !== 'http:') throw new Unsendable('its url is not one of HTTP');
  if (parsed.username !== '' || parsed.password !== '') throw new Unsendable('its url has a name or password');
  // At a provider's address its credentials are sent: elsewhere they would be given away.
  if (origin !== null && parsed.origin !== origin) throw new Unsendable("its url is not its provider's");
  return url;
}

/** With one more parameter. */
function withParameter(url: string, name: string, value: string): string {
  const parsed = new URL(url);
  parsed.searchParams.set(name, value);
  return parsed.href;
}

interface Body {
  readonly headers: Record<string, string>;
  bytes(within: { readonly key: ContractKey; readonly written: string } | null): string | Uint8Array | null;
}

function bodyOf({ json, form, body }: HttpRequest): Body {
  if ([json, form, body].filter((one) => one !== undefined).length > 1) {
    throw new Unsendable('it has more than one of json, form and body');
  }
  if (form !== undefined) {
    if (!isRecord(form) || !Object.values(form).every(isText)) throw new Unsendable('its form has what is no text');
    return {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      bytes: (within) =>
        new URLSearchParams(within === null ? form : { ...form, [within.key.name]: within.written }).toString(),
    };
  }
  if (json !== undefined) {
    return {
      headers: { 'content-type': 'application/json' },
      bytes: (within) => textOf(within === null ? json : withKey(json, within.key.name.split('.'), within.written)),
    };
  }
  if (body !== undefined && !isText(body) && !ArrayBuffer.isView(body)) {
    throw new Unsendable('its body is neither text nor bytes');
  }
  return {
    headers: {},
    bytes(within) {
      if (within !== null) throw new Unsendable('the key goes into the body, which is neither json nor form');
      return body ?? null;
    },
  };
}

function textOf(json: unknown): string {
  const text: unknown = JSON.stringify(json);
  if (typeof text !== 'string') throw new Unsendable('its json is nothing that JSON can hold');
  return text;
}

/** A copy with the key at its path; what stands there already was not the key. */
function withKey(json: unknown, [name, ...rest]: readonly string[], written: string): unknown {
  if (name === undefined) return written;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new Unsendable('the key goes into its json, which is no object there');
  }
  const inside: unknown = Object.hasOwn(json, name) ? Reflect.get(json, name) : undefined;
  if (rest.length === 0 && inside !== undefined) throw new Unsendable('its json has something where the key goes');
  return { ...json, [name]: withKey(rest.length === 0 ? undefined : (inside ?? {}), rest, written) };
}
