/**
 * The grain of PostgreSQL's protocol, version 3: a stream is cut into messages, wherever its pieces begin and end.
 * A message is a type of one letter, a length that counts itself, and a body; the first ones of a client have no type.
 */

export interface Message {
  /** One letter, or empty where messages have no type. */
  readonly type: string;
  readonly body: Buffer;
  /** All of it, as it came. */
  readonly bytes: Buffer;
}

export interface Messages {
  add(bytes: Buffer): void;
  /** The next whole message, or null while it has not wholly arrived. */
  next(has: 'type' | 'no-type'): Message | null;
}

export function messages(): Messages {
  let arrived = Buffer.alloc(0);
  return {
    add(bytes) {
      arrived = Buffer.concat([arrived, bytes]);
    },
    next(has) {
      const start = has === 'type' ? 1 : 0;
      if (arrived.length < start + 4) return null;
      const end = start + arrived.readUInt32BE(start);
      if (arrived.length < end) return null;
      const bytes = arrived.subarray(0, end);
      arrived = arrived.subarray(end);
      return { type: bytes.toString('latin1', 0, start), body: bytes.subarray(start + 4), bytes };
    },
  };
}

/** The text at the start of a body, and what stands behind it. */
function textAt(body: Buffer): { readonly text: string; readonly rest: Buffer } {
  const end = body.indexOf(0);
  return { text: body.toString('utf8', 0, end), rest: body.subarray(end + 1) };
}

/** Knows what each message executes: the text comes with Query or Parse, what is executed later only names it. */
export function statementTexts(): (message: Message) => string | null {
  const prepared = new Map<string, string>();
  const portals = new Map<string, string>();

  return ({ type, body }) => {
    if (type === 'Q') return textAt(body).text;
    if (type === 'P') {
      const name = textAt(body);
      prepared.set(name.text, textAt(name.rest).text);
    }
    if (type === 'B') {
      const portal = textAt(body);
      portals.set(portal.text, prepared.get(textAt(portal.rest).text) ?? '');
    }
    if (type !== 'E') return null;
    // A portal that is executed again only fetches more rows of the same statement.
    const portal = textAt(body).text;
    const text = portals.get(portal) ?? null;
    portals.delete(portal);
    return text;
  };
}
