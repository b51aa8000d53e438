/**
 * JSON without what is as a model says anyway, and the same put back. What has been left out is found nowhere but in the
 * model: one that has been written with never changes.
 */

import type { Json } from './json.ts';

export interface Model {
  /** What a member is where it is left out: nothing much. */
  readonly defaults: Readonly<Record<string, string | number | boolean | null | readonly [] | Readonly<EmptyObject>>>;
  /** How members are themselves, if they are objects. The default of such a one is how it looks without all of its own. */
  readonly members?: Readonly<Record<string, Model>>;
  /** How each of a member is, if that is a list or an object of objects. */
  readonly each?: Readonly<Record<string, Model>>;
}

type EmptyObject = Record<string, never>;
type JsonObject = { readonly [name: string]: Json };

/** What of `json` is not as the model says. */
export function lean(json: Json, model: Model): Json {
  if (!isObject(json)) return json;
  const { defaults } = model;
  const inside = changed(json, model, lean);
  const own = Object.entries(inside).filter(
    ([name, value]) => !Object.hasOwn(defaults, name) || !isSame(value, defaults[name]),
  );
  return Object.fromEntries(own);
}

/** What {@link lean} was given. */
export function whole(json: Json, model: Model): Json {
  return isObject(json) ? changed({ ...model.defaults, ...json }, model, whole) : json;
}

function changed(json: JsonObject, { members = {}, each = {} }: Model, change: typeof lean): JsonObject {
  const inside = Object.entries(json).map(([name, value]): readonly [string, Json] => {
    const [member, part] = [own(members, name), own(each, name)];
    if (member !== undefined) return [name, change(value, member)];
    return [name, part === undefined ? value : eachOf(value, (one) => change(one, part))];
  });
  return Object.fromEntries(inside);
}

function eachOf(json: Json, change: (json: Json) => Json): Json {
  if (isList(json)) return json.map(change);
  if (!isObject(json)) return json;
  return Object.fromEntries(Object.entries(json).map(([name, value]) => [name, change(value)]));
}

function isSame(value: Json, expected: Model['defaults'][string] | undefined): boolean {
  if (typeof expected !== 'object' || expected === null) return value === expected;
  return Array.isArray(expected)
    ? isList(value) && value.length === 0
    : isObject(value) && Object.keys(value).length === 0;
}

function own<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function isList(json: Json): json is readonly Json[] {
  return Array.isArray(json);
}

function isObject(json: Json): json is JsonObject {
  return typeof json === 'object' && json !== null && !isList(json);
}
