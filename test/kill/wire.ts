/**
 * What this process hands to the kernel for the database and for the provider, seen as it is written to the sockets: a
 * request of which only half has left, or a statement that is on its way, cannot be told from inside the library.
 */

import { Socket } from 'node:net';
import { type Messages, messages, statementTexts } from '../../src/testing/fault-proxy/postgres-messages.ts';

export interface Watch {
  /** Statements of these texts have left in these bytes. */
  statementsLeft(texts: readonly string[], bytes: Buffer): void;
  /** A request begins to leave; `half`: no more than half of its beginning shall. */
  requestLeaving(): 'half' | 'whole';
  /** A request has left, or the half of it that may. */
  requestLeft(): void;
}

type Written = (error?: Error | null) => void;

/** Watches every socket to these ports, from now on and for good. */
export function watchWire(ports: { readonly database: number; readonly provider: number }, watch: Watch): void {
  const databases = new WeakMap<Socket, (bytes: Buffer) => readonly string[]>();
  const requests = new WeakMap<Socket, (bytes: Buffer) => boolean>();
  // Called on the socket that it is taken from.
  const write = Reflect.get(Socket.prototype, 'write') as (
    this: Socket,
    bytes: Uint8Array | string,
    ...rest: unknown[]
  ) => boolean;

  const toDatabase = (socket: Socket, bytes: Buffer): Leaving => {
    const textsIn = databases.get(socket) ?? statementsIn();
    databases.set(socket, textsIn);
    const texts = textsIn(bytes);
    return { bytes, left: texts.length === 0 ? null : () => watch.statementsLeft(texts, bytes) };
  };
  const toProvider = (socket: Socket, bytes: Buffer): Leaving => {
    if (isRequest(bytes) && watch.requestLeaving() === 'half') {
      return { bytes: bytes.subarray(0, bytes.length / 2), left: () => watch.requestLeft() };
    }
    const isWhole = requests.get(socket) ?? requestsIn();
    requests.set(socket, isWhole);
    return { bytes, left: isWhole(bytes) ? () => watch.requestLeft() : null };
  };

  Socket.prototype.write = function watched(this: Socket, chunk: Uint8Array | string, ...rest: unknown[]): boolean {
    const { remotePort } = this;
    if (remotePort !== ports.database && remotePort !== ports.provider) return write.call(this, chunk, ...rest);
    const encoding = rest.find((given): given is BufferEncoding => typeof given === 'string');
    const written = rest.find((given): given is Written => typeof given === 'function');
    const given = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk);
    const { bytes, left } = remotePort === ports.database ? toDatabase(this, given) : toProvider(this, given);
    return write.call(this, bytes, (error?: Error | null) => {
      written?.(error);
      if (error === undefined || error === null) left?.();
    });
  };
}

interface Leaving {
  readonly bytes: Buffer;
  readonly left: (() => void) | null;
}

/** The texts of the statements in what is sent over one connection. */
function statementsIn(): (bytes: Buffer) => readonly string[] {
  const sent: Messages = messages();
  const textOf = statementTexts();
  let isFirst = true;
  return (bytes) => {
    sent.add(bytes);
    const texts: string[] = [];
    for (;;) {
      const message = sent.next(isFirst ? 'no-type' : 'type');
      if (message === null) return texts;
      const text = isFirst ? null : textOf(message);
      isFirst = false;
      if (text !== null) texts.push(text);
    }
  };
}

/** Of business; what a test asks of the provider is none. */
function isRequest(bytes: Buffer): boolean {
  const text = bytes.toString('latin1', 0, 20);
  return text.startsWith('POST /') && !text.startsWith('POST /_test');
}

/** Whether what is sent over one connection makes a request of business whole. */
function requestsIn(): (bytes: Buffer) => boolean {
  let begun = '';
  return (bytes) => {
    if (begun === '' && !isRequest(bytes)) return false;
    begun += bytes.toString('latin1');
    const head = begun.indexOf('\r\n\r\n');
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(begun.slice(0, head + 2))?.[1];
    if (head < 0 || begun.length < head + 4 + Number(length ?? 0)) return false;
    begun = '';
    return true;
  };
}
