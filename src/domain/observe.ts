/**
 * Looks at one value without trusting it and says what it is and what it holds, one level deep. Every touch that can
 * run foreign code (a proxy's traps, a getter, a spoofed tag) happens here and is caught here; getters of members are
 * never run. Walkers built on it therefore decide on plain facts and cannot be thrown out of their walk.
 */

import { cutText } from './text.ts';
import { isUnstorable, isUnstorableKind, Unstorable } from './unstorable.ts';

/** Stands where an array has no element at all, which is not the same as `undefined`. */
const hole: unique symbol = Symbol('hole');
/** Stands where a member is computed by a getter. */
export const accessor: unique symbol = Symbol('accessor');

/** A value, or {@link hole}, or {@link accessor}. */
export type Part = unknown;

export type Observed =
  | { readonly type: 'hole' }
  | { readonly type: 'accessor' }
  | { readonly type: 'null' }
  | { readonly type: 'undefined' }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'number'; readonly value: number }
  | { readonly type: 'bigint'; readonly value: bigint }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'symbol' }
  | { readonly type: 'function' }
  | { readonly type: 'array'; readonly elements: readonly Part[]; readonly otherMembers: boolean }
  | { readonly type: 'object'; readonly members: readonly Member[]; readonly symbolMembers: boolean }
  | { readonly type: 'map'; readonly entries: readonly (readonly [unknown, unknown])[] }
  | { readonly type: 'set'; readonly values: readonly unknown[] }
  | { readonly type: 'date'; readonly time: number }
  | { readonly type: 'bytes'; readonly bytes: Uint8Array }
  | { readonly type: 'error'; readonly error: object }
  | { readonly type: 'unstorable'; readonly marker: Unstorable }
  | { readonly type: 'instance'; readonly className: string }
  | { readonly type: 'too-large' };

export type Member = readonly [name: string, part: Part];

/**
 * What `value` is. A container with more than `partsMax` parts is 'too-large' and not looked into, so that neither a
 * sparse array of four thousand million nor a value that shares its parts without end can exhaust the process.
 */
export function observe(value: Part, partsMax: number): Observed {
  if (value === hole) return { type: 'hole' };
  if (value === accessor) return { type: 'accessor' };
  switch (typeof value) {
    case 'undefined':
      return { type: 'undefined' };
    case 'boolean':
      return { type: 'boolean', value };
    case 'number':
      return { type: 'number', value };
    case 'bigint':
      return { type: 'bigint', value };
    case 'string':
      return { type: 'string', value };
    case 'symbol':
      return { type: 'symbol' };
    case 'function':
      return { type: 'function' };
    case 'object':
      if (value === null) return { type: 'null' };
      // Only a proxy's traps can throw while an object is merely looked at.
      return guarded(() => observeObject(value, partsMax)) ?? { type: 'instance', className: 'Proxy' };
  }
}

/** The value of a member that may be a getter, or undefined with `threw` when reading it threw. */
export function readMember(owner: object, name: string): { readonly value: unknown } | { readonly threw: true } {
  return guarded(() => ({ value: Reflect.get(owner, name) })) ?? { threw: true };
}

/** True for an error of this or another realm; a plain object that calls itself one is none. */
export function isError(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const verdict = guarded(() => {
    if (value instanceof Error) return true;
    return !isPlain(value) && Object.prototype.toString.call(value) === '[object Error]';
  });
  return verdict ?? false;
}

/**
 * What an AggregateError gathers, or an error that lists nothing but errors. A field `errors` of anything else is the
 * provider's own and may quote what was sent, so it is not taken for causes.
 */
export function errorsOf(error: object, partsMax: number): readonly unknown[] | undefined {
  const read = readMember(error, 'errors');
  const seen = 'value' in read ? observe(read.value, partsMax) : undefined;
  if (seen?.type !== 'array') return undefined;
  const name = readMember(error, 'name');
  const aggregate = 'value' in name && name.value === 'AggregateError';
  return aggregate || seen.elements.every(isError)
    ? seen.elements.filter((part) => part !== hole && part !== accessor)
    : undefined;
}

/** The name of the class that made `value`, read without running its code; `'Object'` when there is none to be read. */
export function classNameOf(value: object): string {
  const name = guarded(() => {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (typeof prototype !== 'object' || prototype === null) return undefined;
    const maker: unknown = Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value;
    return typeof maker === 'function' ? Object.getOwnPropertyDescriptor(maker, 'name')?.value : undefined;
  });
  return typeof name === 'string' && name !== '' ? cutText(name, 100) : 'Object';
}

function observeObject(value: object, partsMax: number): Observed {
  if (Array.isArray(value)) return observeArray(value, partsMax);
  if (isPlain(value)) return observeMembers(value, partsMax);
  if (isUnstorable(value)) return observeMarker(value);
  if (isError(value)) return { type: 'error', error: value };
  return observeBuiltIn(value, partsMax) ?? { type: 'instance', className: classNameOf(value) };
}

function observeArray(array: readonly unknown[], partsMax: number): Observed {
  const { length } = array;
  if (length > partsMax) return { type: 'too-large' };
  const elements: Part[] = [];
  let holes = 0;
  for (let index = 0; index < length; index += 1) {
    const part = partOf(Object.getOwnPropertyDescriptor(array, index));
    if (part === hole) holes += 1;
    elements.push(part);
  }
  const otherNames = Object.keys(array).length - (length - holes);
  return { type: 'array', elements, otherMembers: otherNames > 0 || Object.getOwnPropertySymbols(array).length > 0 };
}

function observeMembers(value: object, partsMax: number): Observed {
  const names = Reflect.ownKeys(value);
  if (names.length > partsMax) return { type: 'too-large' };
  const members: Member[] = [];
  let symbolMembers = false;
  for (const name of names) {
    const descriptor = Object.getOwnPropertyDescriptor(value, name);
    // What is not enumerable is not data: spread, JSON and structured cloning leave it out as well.
    if (descriptor === undefined || descriptor.enumerable !== true) continue;
    if (typeof name === 'symbol') symbolMembers = true;
    else members.push([name, partOf(descriptor)]);
  }
  return { type: 'object', members, symbolMembers };
}

/** A marker is read anew rather than believed: another copy of the library, or anybody, may have made it. */
function observeMarker({ kind, path, className }: { kind: unknown; path: unknown; className?: unknown }): Observed {
  const intact = isUnstorableKind(kind) && typeof path === 'string';
  if (!intact) return { type: 'instance', className: 'Unstorable' };
  const named = typeof className === 'string' ? className : undefined;
  return { type: 'unstorable', marker: new Unstorable(kind, path, named) };
}

/**
 * The built-in values with an inner slot, recognised by that slot: it holds for subclasses and other realms, and no
 * value can pretend to have one.
 */
function observeBuiltIn(value: object, partsMax: number): Observed | undefined {
  if (typedArrayName(value) === 'Uint8Array') {
    // The typed-array tag that was just read is proof of the class, across realms too.
    return { type: 'bytes', bytes: new Uint8Array(value as Uint8Array) };
  }
  const time = guarded(() => Date.prototype.getTime.call(value));
  if (time !== undefined) return { type: 'date', time };
  const entryCount = guarded(() => mapSize(value));
  if (typeof entryCount === 'number') {
    if (entryCount * 2 > partsMax) return { type: 'too-large' };
    const entries: [unknown, unknown][] = [];
    Map.prototype.forEach.call(value, (entry: unknown, key: unknown) => entries.push([key, entry]));
    return { type: 'map', entries };
  }
  const valueCount = guarded(() => setSize(value));
  if (typeof valueCount === 'number') {
    if (valueCount > partsMax) return { type: 'too-large' };
    const values: unknown[] = [];
    Set.prototype.forEach.call(value, (entry: unknown) => values.push(entry));
    return { type: 'set', values };
  }
  return undefined;
}

/** An object literal of this or another realm, or an object without prototype. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  if (typeof prototype !== 'object') return false;
  // The root prototype of another realm (a vm context, a test runner's sandbox) is known by its own methods.
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf');
}

function partOf(descriptor: PropertyDescriptor | undefined): Part {
  if (descriptor === undefined) return hole;
  return 'value' in descriptor ? descriptor.value : accessor;
}

const typedArrayName = getterOf(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
const mapSize = getterOf(Map.prototype, 'size');
const setSize = getterOf(Set.prototype, 'size');

/** Reads a built-in getter of `prototype` on any object, which throws or gives undefined where the slot is missing. */
function getterOf(prototype: object, name: string | symbol): (owner: object) => unknown {
  return (owner) => Reflect.get(prototype, name, owner);
}

function guarded<Value>(look: () => Value): Value | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
