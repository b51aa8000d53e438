/** What the suites give to a store: turns of invented shops, hand-overs, and values that are hard to keep. */

import { randomUUID } from 'node:crypto';
import { FORMAT_WRITTEN } from '../domain/format.ts';
import type { Json } from '../domain/json.ts';
import type {
  Birth,
  Fence,
  Handover,
  OperationChange,
  OperationRef,
  SagaBirth,
  SagaTurn,
  Turn,
} from '../ports/store.ts';

export function birth(
  tenant: string,
  turn: Partial<Turn> = {},
  born: { readonly key?: string; readonly action?: string; readonly input?: Json } = {},
): Turn {
  const { key = fresh('order'), action = 'payment.authorise', input = { amount: 1200 } } = born;
  return {
    tenant,
    id: fresh('op'),
    turn: fresh('turn'),
    birth: { tenant, action, key, providerKey: `provider:${key}`, fingerprint: 'fp-1', input },
    was: null,
    owner: null,
    generation: 1,
    state: 'pending',
    dueInMs: null,
    reason: null,
    contradicted: false,
    format: FORMAT_WRITTEN,
    snapshot: { value: turn.state ?? 'pending' },
    output: null,
    start: null,
    records: [{ kind: 'moved', attempt: null, body: { to: turn.state ?? 'pending' } }],
    takes: [],
    ...turn,
  };
}

export function moving({ tenant, id }: OperationRef, was: Fence, turn: Partial<Turn> = {}): Turn {
  return {
    ...birth(tenant, { id, was, owner: was.owner, generation: was.generation, state: 'in-progress', ...turn }),
    birth: null,
  };
}

/** What a row is not that is owned by w1 in its first generation and revision, and how that is called in a test's name. */
export const fences: readonly (readonly [string, Fence])[] = [
  ['another owner', { owner: 'w2', generation: 1, revision: 1 }],
  ['no owner', { owner: null, generation: 1, revision: 1 }],
  ['another generation', { owner: 'w1', generation: 2, revision: 1 }],
  ['another revision', { owner: 'w1', generation: 1, revision: 0 }],
];

export function handing({ tenant, id }: OperationRef, handoverId: string, body: Json = {}): Handover {
  return { tenant, id, handoverId, body };
}

/** The birth of a saga with an identity of its own, and without operations. */
export function sagaBirth(tenant: string, turn: Partial<SagaTurn> = {}, born: Partial<SagaBirth> = {}): SagaTurn {
  const state = turn.state ?? 'in-progress';
  return {
    tenant,
    id: fresh('saga'),
    turn: fresh('turn'),
    birth: {
      name: 'order',
      key: fresh('order'),
      locks: [],
      version: 1,
      hash: 'hash-1',
      fingerprint: 'fp-1',
      input: { items: 3 },
      ...born,
    },
    was: null,
    owner: null,
    generation: 1,
    state,
    dues: [],
    reason: null,
    format: FORMAT_WRITTEN,
    snapshot: { value: state },
    becomes: null,
    output: null,
    operations: [],
    timeline: null,
    records: [{ kind: 'moved', attempt: null, body: { to: state } }],
    takes: [],
    signals: [],
    ...turn,
  };
}

export function sagaMoving({ tenant, id }: OperationRef, was: Fence, turn: Partial<SagaTurn> = {}): SagaTurn {
  return { ...sagaBirth(tenant, { id, was, owner: was.owner, generation: was.generation, ...turn }), birth: null };
}

/** An operation that a saga gives birth to. */
export function step(
  change: Partial<OperationChange> = {},
  born: Partial<Omit<Birth, 'tenant'>> = {},
): OperationChange {
  const key = born.key ?? fresh('order');
  return {
    ...stepped({ id: fresh('op') }, change),
    birth: {
      action: 'payment.authorise',
      key,
      providerKey: `provider:${key}`,
      fingerprint: 'fp-1',
      input: { amount: 1200 },
      ...born,
    },
  };
}

/** What a saga changes of an operation that it has. */
export function stepped({ id }: { readonly id: string }, change: Partial<OperationChange> = {}): OperationChange {
  const state = change.state ?? 'in-progress';
  return {
    id,
    birth: null,
    state,
    reason: null,
    contradicted: false,
    format: FORMAT_WRITTEN,
    snapshot: { value: state },
    output: null,
    start: null,
    records: [{ kind: 'moved', attempt: null, body: { to: state } }],
    ...change,
  };
}

/** Values that JSON or a database would lose or refuse, and how they are called in the name of a test. */
export function values(): [string, unknown][] {
  const deep = Array.from({ length: 45 }).reduce<unknown>((inner, _, depth) => ({ depth, inner: [inner] }), 'core');
  return [
    ['a BigInt', { cents: 12_345_678_901_234_567_890n, none: 0n, debt: -1n }],
    ['a Date', { at: new Date(0), before: new Date('1969-12-31T23:59:59.999Z') }],
    [
      'a Map and a Set',
      {
        stock: new Map<unknown, unknown>([
          ['a', 1],
          [2, new Map()],
        ]),
        seen: new Set([1, 'b', null]),
      },
    ],
    ['undefined', { a: undefined, list: [undefined, 1, undefined] }],
    ['NaN and the infinities', { a: Number.NaN, b: Number.POSITIVE_INFINITY, c: Number.NEGATIVE_INFINITY }],
    ['a negative zero', { a: -0, b: 0, list: [-0] }],
    ['the NUL character', { text: 'a\u0000b', 'na\u0000me': '\u0000' }],
    ['half of a surrogate pair', { high: 'x\ud800y', low: '\udc00', whole: '\u{1f600}', 'k\ud83dey': 1 }],
    [
      'a name that means the prototype',
      JSON.parse('{"__proto__":{"isAdmin":true},"constructor":1,"a":{"__proto__":2}}'),
    ],
    ['the signs the codec uses itself', { $: ['bigint', '1'], nested: [{ $: { $: null } }, '$', '{"$":[]}'] }],
    ['numbers at the edge of a double', [2 ** 53 + 2, Number.MAX_VALUE, Number.MIN_VALUE, 0.1, -1e-7, 1e21]],
    ['bytes', { bytes: new Uint8Array([0, 255, 128]) }],
    [
      'text of many kinds',
      ['', ' ', '\n\t\r\b\f\\"\'', '\u2028\u2029', 'ǅ', '$1', "'; drop table sagacity.operation; --"],
    ],
    ['deep nesting', deep],
    ['ten thousand parts', Array.from({ length: 5_000 }, (_, n) => ({ n }))],
    ['nothing but null', null],
    ['a bare text', 'plain'],
  ];
}

export function countPresent(found: readonly unknown[]): number {
  return found.filter((one) => one !== null).length;
}

export function fresh(what: string): string {
  return `${what}-${randomUUID()}`;
}
