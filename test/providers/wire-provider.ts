/**
 * A provider that is told what to do with the bytes of a connection: it answers, holds, cuts or resets where a test
 * says so, and counts its effects. It speaks HTTP no better than it has to, which is what makes every fault of the
 * wire possible. It listens on 127.0.0.1 only.
 */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';

/** What happens on a connection. What is left out goes the usual way: accept, read, commit, answer 201. */
export interface Conduct {
  /** Instead of reading requests. */
  readonly accept?: (socket: Socket) => void;
  /** As soon as the head was read; the body is not read any further. */
  readonly head?: (call: Call) => void;
  /** When the whole request was read. */
  readonly request?: (call: Call) => void;
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
  readonly socket: Socket;
  /** 1 for the first request of its connection. */
  readonly place: number;
  /** The effect; what counts. */
  readonly commit: () => void;
  /** Writes a whole reply. */
  readonly answer: (status: number, body?: string) => void;
}

export interface WireProvider {
  readonly port: number;
  /** How many effects there were, of one idempotency key or of all. */
  readonly effects: (key?: string) => number;
  /** How many connections were accepted. */
  readonly connections: () => number;
  readonly close: () => Promise<void>;
}

export const committed: Conduct = {
  request(call) {
    call.commit();
    call.answer(201, '{"id":"pay_1"}');
  },
};

export async function wireProvider(conduct: Conduct, tls?: TlsOptions): Promise<WireProvider> {
  const effects: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;

  const receive = (socket: Socket): void => {
    // A connection that a test breaks is no fault of the provider.
    socket.on('error', () => undefined);
    if (conduct.accept === undefined) readRequests(socket, conduct, effects);
    else conduct.accept(socket);
  };
  const server: Server = tls === undefined ? createServer(receive) : createTlsServer(tls, receive);
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    // A server that listens on a port has such an address.
    port: (server.address() as AddressInfo).port,
    effects: (key) => effects.filter((one) => (key ?? one) === one).length,
    connections: () => connections,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function readRequests(socket: Socket, conduct: Conduct, effects: string[]): void {
  let read = Buffer.alloc(0);
  let place = 0;

  socket.on('data', (piece: Buffer) => {
    read = Buffer.concat([read, piece]);
    // One piece may hold several requests, of a client that pipelines.
    for (let call = callAt(); call !== undefined; call = callAt()) {
      const end = call.bodyEnd;
      if (conduct.head !== undefined) {
        if (place === 0) conduct.head(call);
        place += 1;
        return void socket.pause();
      }
      if (read.length < end) return;
      read = read.subarray(end);
      place += 1;
      (conduct.request ?? committed.request)?.(call);
    }
  });

  const callAt = (): (Call & { readonly bodyEnd: number }) | undefined => {
    const headEnd = read.indexOf('\r\n\r\n');
    if (headEnd === -1) return undefined;
    const [requestLine = '', ...lines] = read.toString('latin1', 0, headEnd).split('\r\n');
    const [method = '', path = ''] = requestLine.split(' ');
    const headers = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), valueOf(line)]));
    const bodyEnd = headEnd + 4 + Number(headers.get('content-length') ?? 0);
    return {
      ...{ method, path, headers, body: read.subarray(headEnd + 4, bodyEnd), bodyEnd, socket, place: place + 1 },
      commit: () => void effects.push(headers.get('idempotency-key') ?? ''),
      answer: (status: number, body = '') =>
        void socket.write(`HTTP/1.1 ${status} Said\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
    };
  };
}

function valueOf(line: string): string {
  return line.slice(line.indexOf(':') + 1).trim();
}
