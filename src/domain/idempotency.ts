/**
 * The identity of an operation, and the two ids that follow from it. Both are pure functions of (tenant, action, key):
 * every attempt, process and restart computes the same ones, and no attempt number, clock or chance can enter them.
 * The parts are hashed with their lengths before them, because joined with a separator `a:b` + `c` is `a` + `b:c`.
 */

import { createHash } from 'node:crypto';
import {
  ACTION_LENGTH_MAX,
  assertKeyText,
  assertTogether,
  KEY_LENGTH_MAX,
  SCOPE_BYTES_MAX,
  TENANT_LENGTH_MAX,
} from './text.ts';

/** Whose it is, what is done, and which one: two submissions with an equal scope are one intent. */
export interface Scope {
  readonly tenant: string;
  readonly action: string;
  readonly key: string;
}

/** The scope of an operation, or INPUT_INVALID naming the part that is missing or cannot be a key text. */
export function scopeOf(tenant: unknown, action: unknown, key: unknown): Scope {
  assertKeyText('tenant', tenant, TENANT_LENGTH_MAX);
  assertKeyText('action', action, ACTION_LENGTH_MAX);
  assertKeyText('idempotency key', key, KEY_LENGTH_MAX);
  assertTogether({ tenant, action, key }, SCOPE_BYTES_MAX);
  return { tenant, action, key };
}

/**
 * The idempotency key as providers receive it: a version 8 UUID (RFC 9562, the version whose bits are ours to define),
 * 36 lower-case characters, hyphens included.
 *
 * Providers differ in what they take: some allow 255 characters and some 36, some any ASCII and some only a UUID, some
 * compare case and some do not. A UUID fits within all of these; the caller's own key, which may be an order number or
 * hold any script, might not, and would also tell the provider more than it needs. 122 bits of SHA-256 remain.
 *
 * @example
 * providerKey(scopeOf('shop-1', 'payment.capture', 'order-17'));
 */
export function providerKey(scope: Scope): string {
  const bytes = digest('sagacity.provider-key.v1', scope).subarray(0, 16);
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/**
 * The id under which the store and people know the operation: `op_` and 26 characters of Crockford base32 (130 bits).
 * Hashed under another prefix than {@link providerKey}, so that neither can be computed from the other.
 */
export function operationId(scope: Scope): string {
  return `op_${crockford(digest('sagacity.operation-id.v1', scope), 26)}`;
}

/** The key of the operation that a step of a saga is, for who reads it: no two steps of two sagas share one. */
export function stepKey({
  saga,
  key,
  step,
}: {
  readonly saga: string;
  readonly key: string;
  readonly step: string;
}): string {
  return JSON.stringify([saga, key, step]);
}

/** The key of the inverse of an operation. Another one follows only what was given up and certainly had no effect. */
export function undoKey(operation: string, givenUp = 0): string {
  return givenUp === 0 ? `undo ${operation}` : `undo ${operation}#${givenUp + 1}`;
}

/** The key of what is tried in the place of an operation that had no effect. An id is that of one key. */
export function retryKey(operation: string): string {
  return `retry ${operation}`;
}

/** The operation in the place of which the one of this key is tried; null: it is not the key of a retry. */
export function retriedBy(key: string): string | null {
  return /^retry (op_[0-9A-HJKMNP-TV-Z]{26})$/.exec(key)?.[1] ?? null;
}

/** The operation that the inverse of this key takes back; null: no inverse has it. */
export function undoneBy(key: string): string | null {
  return /^undo (op_[0-9A-Z]+)/.exec(key)?.[1] ?? null;
}

/** The id of a saga: `sg_` and 26 characters, from the same parts as an operation's under another prefix. */
export function sagaId(scope: Scope): string {
  return `${SAGA_ID_PREFIX}${crockford(digest('sagacity.saga-id.v1', scope), 26)}`;
}

/** Tells the id of a saga from that of an operation, and from what is no id at all. */
export function isSagaId(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(SAGA_ID_PREFIX);
}

const SAGA_ID_PREFIX = 'sg_';

function digest(purpose: string, { tenant, action, key }: Scope): Uint8Array {
  const hash = createHash('sha256');
  for (const part of [purpose, tenant, action, key]) {
    const bytes = new TextEncoder().encode(part);
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, bytes.length);
    hash.update(length).update(bytes);
  }
  return new Uint8Array(hash.digest());
}

// No I, L, O or U: an id can be read over the telephone.
const crockfordDigits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

function crockford(bytes: Uint8Array, digits: number): string {
  let bits = 0n;
  for (const byte of bytes) bits = (bits << 8n) | BigInt(byte);
  const surplus = BigInt(bytes.length * 8 - digits * 5);
  let rest = bits >> surplus;
  let text = '';
  for (let digit = 0; digit < digits; digit += 1) {
    text = crockfordDigits.charAt(Number(rest & 31n)) + text;
    rest >>= 5n;
  }
  return text;
}
