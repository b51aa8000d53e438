/**
 * One text for each meaning: the canonical JSON (RFC 8785) of parameters, from which their fingerprint is hashed. Two
 * encodings of the same parameters must agree, and two different intents must never: so whatever JSON would silently
 * merge (a Map and `{}`, two integers beyond 2^53, a BigInt and its digits) is either tagged or refused with its path.
 */

import { createHash } from 'node:crypto';
import { definitionInvalid } from './errors.ts';
import { observe, type Observed, type Part } from './observe.ts';
import { type Step, writePath } from './path.ts';
import { DEPTH_MAX, type Flaw, flawOf, flaws, PARTS_MAX, refusal } from './refusal.ts';
import { isWellFormed } from './text.ts';

/** What is left out of a fingerprint. */
export interface FingerprintOptions {
  /** Dot paths such as `meta.requestedAt`; `lines[].note` is the member `note` of every element of `lines`. */
  readonly volatile?: readonly string[];
}

/**
 * The canonical JSON of `value`: names sorted, Unicode NFC, undefined members left out, -0 as 0, BigInt and Date
 * tagged so that they differ from their texts. Throws INPUT_INVALID, with the path, for whatever has no such form.
 */
export function canonicalJson(value: unknown, rootName = 'input'): string {
  return textOf(formOf(value, rootName, []));
}

/**
 * The fingerprint of `value`: `v1:` and the SHA-256 of its canonical JSON, without the volatile parts. The version
 * names the rules of the canonical form, so that stored fingerprints stay comparable when the rules are extended.
 *
 * @example
 * fingerprintOf({ amount: 100, meta: { requestedAt } }, { volatile: ['meta.requestedAt'] });
 */
export function fingerprintOf(value: unknown, options: FingerprintOptions = {}): string {
  const text = textOf(formOf(value, 'input', parseVolatile(options.volatile)));
  return `v1:${createHash('sha256').update(text).digest('hex')}`;
}

/**
 * The paths, relative to the root, at which two values have different canonical forms: at most 10, and never a value.
 * A difference of the roots themselves is `input`.
 */
export function differingPaths(a: unknown, b: unknown, options: FingerprintOptions = {}): readonly string[] {
  const volatile = parseVolatile(options.volatile);
  const paths: string[] = [];
  collectDifferences(formOf(a, 'input', volatile), formOf(b, 'input', volatile), [], paths);
  return paths;
}

/** A value in canonical form: the finished text of a leaf, elements, or members sorted by name. */
type Form =
  | { readonly type: 'leaf'; readonly text: string }
  | { readonly type: 'array'; readonly elements: readonly Form[] }
  | { readonly type: 'object'; readonly members: readonly FormMember[] };

type FormMember = readonly [name: string, form: Form];

/** Paths still to be left out below a place: `.name` is a step into a member, `[]` one into every element. */
type Volatile = readonly (readonly string[])[];

interface Walk {
  readonly rootName: string;
  /** How the walk came to where it is. */
  readonly steps: Step[];
  readonly ancestors: Set<unknown>;
  partsLeft: number;
}

const PATHS_MAX = 10;

function parseVolatile(paths: readonly string[] = []): Volatile {
  return paths.map((path) => {
    if (!/^(?:[^.[\]]+|\[\])(?:\[\])*(?:\.[^.[\]]+(?:\[\])*)*$/.test(path)) {
      throw definitionInvalid(
        `volatile: ${JSON.stringify(path)} is not a path.`,
        "Write member names joined by dots, with [] for every element of an array: 'meta.requestedAt', 'lines[].note'.",
        { option: 'volatile', path },
      );
    }
    const steps = path.normalize('NFC').match(/\[\]|[^.[\]]+/g) ?? [];
    return steps.map((step) => (step === '[]' ? step : `.${step}`));
  });
}

function formOf(value: unknown, rootName: string, volatile: Volatile): Form {
  return formAt(value, volatile, { rootName, steps: [], ancestors: new Set(), partsLeft: PARTS_MAX });
}

function formAt(part: Part, volatile: Volatile, walk: Walk): Form {
  if (walk.ancestors.has(part)) throw refusal(walk.rootName, walk.steps, flaws.cycle);
  const seen = observe(part, walk.partsLeft);
  if (seen.type !== 'array' && seen.type !== 'object') {
    const leaf = leafOf(seen);
    if (typeof leaf !== 'string') throw refusal(walk.rootName, walk.steps, leaf);
    return { type: 'leaf', text: leaf };
  }

  if (walk.ancestors.size >= DEPTH_MAX) throw refusal(walk.rootName, walk.steps, flaws.depth);
  walk.ancestors.add(part);
  const form = seen.type === 'array' ? arrayForm(seen, volatile, walk) : objectForm(seen, volatile, walk);
  walk.ancestors.delete(part);
  return form;
}

function formBelow(step: Step, part: Part, volatile: Volatile, walk: Walk): Form {
  walk.steps.push(step);
  const form = formAt(part, volatile, walk);
  walk.steps.pop();
  return form;
}

/** The text of a value without parts, or what keeps it from having one. */
function leafOf(seen: Exclude<Observed, { type: 'array' | 'object' }>): string | Flaw {
  switch (seen.type) {
    case 'null':
      return 'null';
    case 'boolean':
      return String(seen.value);
    case 'number':
      if (!Number.isFinite(seen.value)) return notFinite;
      return Number.isInteger(seen.value) && !Number.isSafeInteger(seen.value) ? unsafeInteger : String(seen.value);
    case 'string':
      return isWellFormed(seen.value) ? JSON.stringify(normalForm(seen.value)) : loneSurrogate;
    case 'bigint':
      return tagged('bigint', JSON.stringify(String(seen.value)));
    case 'date':
      return Number.isNaN(seen.time) ? invalidDate : tagged('date', JSON.stringify(new Date(seen.time).toISOString()));
    case 'map':
      return map;
    case 'set':
      return set;
    case 'bytes':
      return bytes;
    case 'undefined':
    case 'hole':
    case 'accessor':
    case 'function':
    case 'symbol':
    case 'error':
    case 'unstorable':
    case 'instance':
    case 'too-large':
      return flawOf(seen);
  }
}

function arrayForm(seen: Observed & { type: 'array' }, volatile: Volatile, walk: Walk): Form {
  if (seen.otherMembers) throw refusal(walk.rootName, walk.steps, flaws.otherMembers);
  const below = follow(volatile, '[]');
  if (below === 'left out') return { type: 'array', elements: [] };
  walk.partsLeft -= seen.elements.length;
  return { type: 'array', elements: seen.elements.map((element, index) => formBelow(index, element, below, walk)) };
}

function objectForm(seen: Observed & { type: 'object' }, volatile: Volatile, walk: Walk): Form {
  if (seen.symbolMembers) throw refusal(walk.rootName, walk.steps, flaws.symbolMembers);
  walk.partsLeft -= seen.members.length;
  const members: FormMember[] = [];
  const names = new Set<string>();
  for (const [name, part] of seen.members) {
    const canonicalName = normalForm(name);
    const below = volatile.length === 0 ? volatile : follow(volatile, `.${canonicalName}`);
    if (below === 'left out' || part === undefined) continue;
    if (!isWellFormed(name)) throw refusal(walk.rootName, [...walk.steps, name], loneSurrogateInName);
    if (names.has(canonicalName)) throw refusal(walk.rootName, [...walk.steps, name], sameName);
    names.add(canonicalName);
    members.push([canonicalName, formBelow(name, part, below, walk)]);
  }
  // Strings compare by UTF-16 code unit, which is the order RFC 8785 asks for.
  return { type: 'object', members: members.sort(([a], [b]) => (a < b ? -1 : 1)) };
}

function follow(volatile: Volatile, step: string): Volatile | 'left out' {
  if (volatile.length === 0) return volatile;
  const below = volatile.filter(([first]) => first === step).map(([, ...rest]) => rest);
  return below.some((rest) => rest.length === 0) ? 'left out' : below;
}

function normalForm(text: string): string {
  return onlyAscii.test(text) ? text : text.normalize('NFC');
}

// ASCII is its own normal form in every version of Unicode, and most names and texts are ASCII.
// oxlint-disable-next-line no-control-regex
const onlyAscii = /^[\0-\x7f]*$/;

function textOf(form: Form): string {
  if (form.type === 'leaf') return form.text;
  if (form.type === 'array') return `[${form.elements.map(textOf).join(',')}]`;
  const text = `{${form.members.map(([name, member]) => `${JSON.stringify(name)}:${textOf(member)}`).join(',')}}`;
  // An object that has a member `$` could pass for a tag; a tag of its own keeps the two apart.
  return form.members.some(([name]) => name === '$') ? tagged('object', text) : text;
}

function tagged(tag: string, text: string): string {
  return `{"$":["${tag}",${text}]}`;
}

function collectDifferences(a: Form | undefined, b: Form | undefined, steps: readonly Step[], paths: string[]): void {
  if (paths.length >= PATHS_MAX) return;
  if (a?.type === 'array' && b?.type === 'array') {
    const length = Math.max(a.elements.length, b.elements.length);
    for (let index = 0; index < length && paths.length < PATHS_MAX; index += 1) {
      collectDifferences(a.elements[index], b.elements[index], [...steps, index], paths);
    }
  } else if (a?.type === 'object' && b?.type === 'object') {
    const [inA, inB] = [new Map(a.members), new Map(b.members)];
    for (const name of new Set([...inA.keys(), ...inB.keys()])) {
      collectDifferences(inA.get(name), inB.get(name), [...steps, name], paths);
    }
  } else if (a?.type !== 'leaf' || b?.type !== 'leaf' || a.text !== b.text) {
    paths.push(steps.length === 0 ? 'input' : writePath('', steps));
  }
}

const map: Flaw = { what: 'is a Map', remedy: 'Write a plain object, or an array of pairs, instead.' };
const set: Flaw = { what: 'is a Set', remedy: 'Write an array instead.' };
const bytes: Flaw = { what: 'is a Uint8Array', remedy: 'Write it as a base64 string instead.' };
const notFinite: Flaw = { what: 'is NaN or infinite', remedy: 'Write null, or a string that says what it means.' };
const unsafeInteger: Flaw = {
  what: 'is an integer beyond 2^53, where neighbouring integers are one and the same number',
  remedy: 'Write a BigInt or a string instead.',
};
const invalidDate: Flaw = { what: 'is an invalid Date', remedy: 'Write null instead.' };
const loneSurrogate: Flaw = {
  what: 'is a string with half of a surrogate pair',
  remedy: 'Cut texts between characters, or apply toWellFormed().',
};
const loneSurrogateInName: Flaw = {
  what: 'has half of a surrogate pair in its name',
  remedy: 'Rename it.',
};
const sameName: Flaw = {
  what: 'has the same name as another member once both are in Unicode normal form C',
  remedy: 'Rename one of them.',
};
