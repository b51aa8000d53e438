/**
 * Carries JavaScript values through JSON and jsonb without loss: what goes in comes out deep-equal, BigInt, Date, Map,
 * undefined, NaN, -0, NUL and half surrogate pairs included. What JSON cannot say is written as one tag,
 * `{"$": [tag, payload]}`, and an object that has a member `$` itself is written inside the tag `object`, so that
 * nothing a caller stores can pass for a tag. References shared within a value are copied; cycles are not carried.
 *
 * Two things can go wrong, and the caller chooses what then: inputs are refused with the path, before anything is
 * sent; outputs are marked and kept, because their effect has happened and must be recorded whatever it returned.
 */

import { schemaOutdated } from './errors.ts';
import type { Json } from './json.ts';
import { accessor, errorsOf, type Member, observe, type Observed, type Part, readMember } from './observe.ts';
import { type Step, writePath } from './path.ts';
import { DEPTH_MAX, type Flaw, flawOf, flaws, PARTS_MAX, refusal } from './refusal.ts';
import { isWellFormed } from './text.ts';
import { isUnstorableKind, Unstorable, type UnstorableKind } from './unstorable.ts';

export { isUnstorable, Unstorable } from './unstorable.ts';

export interface EncodeOptions {
  /** `'refuse'` throws INPUT_INVALID with the path; `'mark'` puts an {@link Unstorable} there and never throws. */
  readonly onUnsupported?: 'refuse' | 'mark';
  /** What paths begin with and messages call the value. By default `input` when refusing and `output` when marking. */
  readonly rootName?: string;
}

/** How many causes of an error are kept, the nearest first. */
const CAUSES_MAX = 5;

/**
 * The JSON form of `value`, for {@link decode}. Functions, symbols, class instances, cycles, getters that throw and
 * values nested deeper than 100 levels are unsupported. An error keeps its name, message, code, causes and errors, and
 * no other fields, because those may hold credentials. Members that are not enumerable are left out; with `'mark'`
 * so are members named by symbols and members of arrays besides their elements.
 *
 * @example
 * decode(encode({ amount: 12n, at: new Date(0) })); // { amount: 12n, at: new Date(0) }
 */
export function encode(value: unknown, options: EncodeOptions = {}): Json {
  const marks = options.onUnsupported === 'mark';
  const rootName = options.rootName ?? (marks ? 'output' : 'input');
  return encodePart(value, { rootName, marks, steps: [], ancestors: new Set(), causes: 0, partsLeft: PARTS_MAX });
}

/** The value that {@link encode} was given. Throws SCHEMA_OUTDATED for a tag that only a newer version can read. */
export function decode(json: Json): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (isList(json)) return decodeList(json);
  const tag = Object.hasOwn(json, '$') ? json['$'] : undefined;
  return tag === undefined ? decodeMembers(Object.entries(json)) : decodeTag(tag);
}

interface Walk {
  readonly rootName: string;
  readonly marks: boolean;
  /** How the walk came to where it is. */
  readonly steps: Step[];
  readonly ancestors: Set<unknown>;
  causes: number;
  partsLeft: number;
}

type Container = Extract<Observed, { type: 'array' | 'object' | 'map' | 'set' | 'error' }>;

function encodePart(part: Part, walk: Walk): Json {
  if (walk.ancestors.has(part)) return unsupported(walk, 'cycle', flaws.cycle);
  const seen = observe(part, walk.partsLeft);
  return isContainer(seen) ? encodeContainer(part, seen, walk) : encodeLeaf(seen, walk);
}

function isContainer(seen: Observed): seen is Container {
  const { type } = seen;
  return type === 'array' || type === 'object' || type === 'map' || type === 'set' || type === 'error';
}

function encodeLeaf(seen: Exclude<Observed, Container>, walk: Walk): Json {
  switch (seen.type) {
    case 'null':
      return null;
    case 'boolean':
      return seen.value;
    case 'number':
      return encodeNumber(seen.value);
    case 'string':
      return encodeText(seen.value);
    case 'undefined':
    case 'hole':
      return tagged(seen.type);
    case 'bigint':
      return tagged('bigint', String(seen.value));
    case 'date':
      return tagged('date', Number.isNaN(seen.time) ? null : new Date(seen.time).toISOString());
    case 'bytes':
      return tagged('bytes', base64Of(seen.bytes));
    case 'unstorable':
      return encodeMarker(seen.marker);
    case 'function':
    case 'symbol':
      return unsupported(walk, seen.type, flawOf(seen));
    case 'instance':
      return unsupported(walk, 'instance', flawOf(seen), seen.className);
    case 'accessor':
      // Getters are read by the object that owns them; one that arrives here stands in an array or could not be read.
      return unsupported(walk, 'getter', flaws.throwingGetter);
    case 'too-large':
      return unsupported(walk, 'size', flawOf(seen));
  }
}

function encodeContainer(part: Part, seen: Container, walk: Walk): Json {
  if (walk.ancestors.size >= DEPTH_MAX) return unsupported(walk, 'depth', flaws.depth);
  walk.ancestors.add(part);
  const json = encodeInside(part, seen, walk);
  walk.ancestors.delete(part);
  return json;
}

function encodeInside(owner: Part, seen: Container, walk: Walk): Json {
  switch (seen.type) {
    case 'array':
      if (seen.otherMembers && !walk.marks) throw refusal(walk.rootName, walk.steps, flaws.otherMembers);
      return encodeList(owner, seen.elements, walk);
    case 'set':
      return tagged('set', encodeSide('values', owner, seen.values, walk));
    case 'map': {
      const keys = seen.entries.map(([key]) => key);
      const values = seen.entries.map(([, value]) => value);
      return tagged('map', [encodeSide('keys', owner, keys, walk), encodeSide('values', owner, values, walk)]);
    }
    case 'object':
      if (seen.symbolMembers && !walk.marks) throw refusal(walk.rootName, walk.steps, flaws.symbolMembers);
      return encodeMembers(owner, seen.members, walk);
    case 'error':
      return encodeError(seen.error, walk);
  }
}

function encodeBelow(step: Step, part: Part, walk: Walk): Json {
  walk.steps.push(step);
  const json = encodePart(part, walk);
  walk.steps.pop();
  return json;
}

/** One of the lists that a Map, a Set or an error consists of. */
function encodeSide(side: string, owner: Part, elements: readonly Part[], walk: Walk): Json[] {
  walk.steps.push(side);
  const list = encodeList(owner, elements, walk);
  walk.steps.pop();
  return list;
}

function encodeList(owner: Part, elements: readonly Part[], walk: Walk): Json[] {
  walk.partsLeft -= elements.length;
  return elements.map((element, index) => {
    const read = element === accessor ? readPart(owner, String(index)) : element;
    return encodeBelow(index, read, walk);
  });
}

function encodeMembers(owner: Part, members: readonly Member[], walk: Walk): Json {
  walk.partsLeft -= members.length;
  const entries = members.map(([name, part]): [string, Json] => {
    const read = part === accessor ? readPart(owner, name) : part;
    return [name, encodeBelow(name, read, walk)];
  });
  if (entries.some(([name]) => !isPlainName(name))) {
    return tagged(
      'entries',
      entries.map(([name, json]) => [encodeText(name), json]),
    );
  }
  const json = Object.fromEntries(entries);
  return Object.hasOwn(json, '$') ? tagged('object', json) : json;
}

/** A getter's value, or {@link accessor} again when it threw, which is then refused or marked like any other part. */
function readPart(owner: Part, name: string): Part {
  const read = typeof owner === 'object' && owner !== null ? readMember(owner, name) : { threw: true };
  return 'value' in read ? read.value : accessor;
}

/**
 * The fields that say what went wrong. The chain of causes is cut without a trace after the fifth: it explains an
 * error, it is not data of the caller. `errors` (of an AggregateError) belong to no chain and keep their own causes.
 */
function encodeError(error: object, walk: Walk): Json {
  const field = (name: string) => readPart(error, name);
  const name = field('name');
  const message = field('message');
  const code = field('code');
  const cause = field('cause');
  const fields: Record<string, Json> = {
    name: encodeText(typeof name === 'string' ? name : 'Error'),
    message: encodeText(typeof message === 'string' ? message : ''),
  };
  if (typeof code === 'string') fields['code'] = encodeText(code);
  if (typeof code === 'number') fields['code'] = encodeNumber(code);
  if (cause !== undefined && cause !== accessor && walk.causes < CAUSES_MAX) {
    walk.causes += 1;
    fields['cause'] = encodeBelow('cause', cause, walk);
    walk.causes -= 1;
  }
  const errors = errorsOf(error, walk.partsLeft);
  if (errors !== undefined) {
    const { causes } = walk;
    walk.causes = 0;
    fields['errors'] = encodeSide('errors', error, errors, walk);
    walk.causes = causes;
  }
  return tagged('error', fields);
}

function encodeNumber(value: number): Json {
  if (Number.isFinite(value) && !Object.is(value, -0)) return value;
  return tagged('number', Object.is(value, -0) ? '-0' : String(value));
}

/** Text as it is, or escaped where a database would refuse it. */
function encodeText(text: string): Json {
  // JSON's own notation turns NUL and lone surrogates into ASCII that survives being a JSON string once more.
  return isPlainText(text) ? text : tagged('text', JSON.stringify(text));
}

function encodeMarker(marker: Unstorable): Json {
  const fields = [marker.kind, encodeText(marker.path)];
  return tagged('unstorable', marker.className === undefined ? fields : [...fields, encodeText(marker.className)]);
}

function unsupported(walk: Walk, kind: UnstorableKind, flaw: Flaw, className?: string): Json {
  if (!walk.marks) throw refusal(walk.rootName, walk.steps, flaw);
  return encodeMarker(new Unstorable(kind, writePath(walk.rootName, walk.steps), className));
}

function isPlainText(text: string): boolean {
  return !text.includes('\0') && isWellFormed(text);
}

/** A name that can be a JSON member as it is. `__proto__` cannot: whoever merges the JSON would set a prototype. */
function isPlainName(name: string): boolean {
  return name !== '__proto__' && isPlainText(name);
}

function tagged(tag: string, payload?: Json): Json {
  return { $: payload === undefined ? [tag] : [tag, payload] };
}

function base64Of(bytes: Uint8Array): string {
  let binary = '';
  // In slices, because a call takes a limited number of arguments.
  for (let from = 0; from < bytes.length; from += 8192) {
    binary += String.fromCharCode(...bytes.subarray(from, from + 8192));
  }
  return btoa(binary);
}

function decodeTag(tag: Json): unknown {
  if (!isList(tag)) throw unreadable();
  const [name = null, payload = null] = tag;
  switch (textIn(name)) {
    case 'undefined':
      return undefined;
    case 'number':
      return Number(textIn(payload));
    case 'bigint':
      return BigInt(textIn(payload));
    case 'text':
      return JSON.parse(textIn(payload));
    case 'date':
      return new Date(payload === null ? Number.NaN : textIn(payload));
    case 'bytes':
      return Uint8Array.from(atob(textIn(payload)), (character) => character.charCodeAt(0));
    case 'set':
      return new Set(decodeList(listIn(payload)));
    case 'map': {
      const [keys = [], values = []] = listIn(payload).map((side) => decodeList(listIn(side)));
      return new Map(keys.map((key, index) => [key, values[index]]));
    }
    case 'object':
      return decodeMembers(Object.entries(membersIn(payload)));
    case 'entries':
      return decodeMembers(listIn(payload).map((entry) => entryIn(entry)));
    case 'error':
      return decodeError(membersIn(payload));
    case 'unstorable':
      return decodeMarker(listIn(payload));
    default:
      throw unreadable();
  }
}

function decodeList(list: readonly Json[]): unknown[] {
  const values: unknown[] = [];
  // Where the list says hole, nothing is put, and the length alone makes the slot.
  values.length = list.length;
  for (const [index, json] of list.entries()) {
    if (!isHole(json)) values[index] = decode(json);
  }
  return values;
}

function isHole(json: Json): boolean {
  if (typeof json !== 'object' || json === null || isList(json)) return false;
  const tag = Object.hasOwn(json, '$') ? json['$'] : undefined;
  return tag !== undefined && isList(tag) && tag[0] === 'hole';
}

function decodeMembers(members: readonly (readonly [string, Json])[]): object {
  // fromEntries defines members and never assigns them, so that `__proto__` becomes data and no prototype.
  return Object.fromEntries(members.map(([name, json]) => [name, decode(json)]));
}

function decodeError(fields: { readonly [name: string]: Json }): Error {
  const field = (name: string) => decode(fields[name] ?? null);
  const error = new Error(String(field('message')), 'cause' in fields ? { cause: field('cause') } : undefined);
  // As on errors that were never stored, name and errors do not show up when members are listed; code does.
  const name = String(field('name'));
  if (name !== 'Error') Object.defineProperty(error, 'name', { value: name, writable: true, configurable: true });
  if ('errors' in fields) {
    Object.defineProperty(error, 'errors', { value: field('errors'), writable: true, configurable: true });
  }
  return 'code' in fields ? Object.assign(error, { code: field('code') }) : error;
}

function decodeMarker([kind, path = null, className]: readonly Json[]): Unstorable {
  if (!isUnstorableKind(kind)) throw unreadable();
  const named = className === undefined ? undefined : String(decode(className));
  return new Unstorable(kind, String(decode(path)), named);
}

function entryIn(entry: Json): readonly [string, Json] {
  const [name = null, json = null] = listIn(entry);
  return [String(decode(name)), json];
}

function textIn(json: Json): string {
  if (typeof json !== 'string') throw unreadable();
  return json;
}

function listIn(json: Json): readonly Json[] {
  if (!isList(json)) throw unreadable();
  return json;
}

function membersIn(json: Json): { readonly [name: string]: Json } {
  if (typeof json !== 'object' || json === null || isList(json)) throw unreadable();
  return json;
}

/** Array.isArray does not narrow a readonly array. */
function isList(json: Json): json is readonly Json[] {
  return Array.isArray(json);
}

function unreadable() {
  return schemaOutdated(
    'A stored value has a form that this version of the library cannot read.',
    'Update sagacity here to the newest version that writes to this database.',
  );
}
