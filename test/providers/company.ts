/** A company on loopback that answers as it is told and keeps what it was sent: for specifications of the sender. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { listenOnLoopback, type RunningServer } from '../../src/testing/provider/loopback.ts';

export interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface Company extends RunningServer {
  /** Requests that came as a whole, oldest first. */
  readonly requests: readonly Sent[];
}

/** `reply` ends the response, breaks it, or leaves it open. */
export async function company(reply: (response: ServerResponse, sent: Sent) => void): Promise<Company> {
  const requests: Sent[] = [];
  const server = await listenOnLoopback((request, response) => {
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
  return { ...server, requests };
}

/** Ends the response with this status and, as JSON, this body. */
export function answer(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
