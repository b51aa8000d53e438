/**
 * The body of a request as this company reads it: one JSON object, and one text by which two bodies are compared.
 * Two bodies are the same request when they differ in nothing but spacing and the order of fields. A name such as
 * `__proto__` is a field like any other: nothing here assigns by name.
 */

export type JsonObject = { readonly [name: string]: unknown };

export type ReadPayload =
  | { readonly ok: true; readonly body: JsonObject; readonly canonical: string }
  | { readonly ok: false; readonly error: 'invalid_json' | 'body_must_be_an_object' };

export function readPayload(text: string): ReadPayload {
  try {
    const parsed: unknown = JSON.parse(text);
    if (!isObject(parsed)) return { ok: false, error: 'body_must_be_an_object' };
    return { ok: true, body: parsed, canonical: canonicalText(parsed) };
  } catch {
    // Nesting deeper than the stack ends here as well: it cannot be compared, so it is not accepted.
    return { ok: false, error: 'invalid_json' };
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function canonicalText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.keys(value).sort();
  return `{${fields.map((name) => `${JSON.stringify(name)}:${canonicalText(value[name])}`).join(',')}}`;
}
