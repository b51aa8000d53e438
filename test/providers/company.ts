/** A company on loopback that answers as it is told and keeps what it was sent: for specifications of the sender. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Company {
  readonly url: string;
  /** Requests that came as a whole, oldest first. */
  readonly requests: readonly Sent[];
  close(): Promise<void>;
}

/** `reply` ends the response, breaks it, or leaves it open. */
export async function company(reply: (response: ServerResponse, sent: Sent) => void): Promise<Company> {
  const requests: Sent[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const sent = { method, url, headers, body: Buffer.concat(pieces).toString('utf8') };
      requests.push(sent);
      reply(response, sent);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  // It listens on a port of its own.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close() {
      server.closeAllConnections();
      return new Promise((closed) => server.close(() => closed()));
    },
  };
}

/** Ends the response with this status and, as JSON, this body. */
export function answer(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
