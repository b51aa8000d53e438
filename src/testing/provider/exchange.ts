/**
 * Bytes in and bytes out of one HTTP exchange: a body read up to a limit, an answer, a spoilt answer, or no answer
 * at all. Each way of ending says whether a reply really left, because "no reply left" is what callers are tested on.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';

const bodyBytesMax = 1_048_576;

export type ReadBody =
  | { readonly got: 'text'; readonly text: string }
  | { readonly got: 'too-large' }
  | { readonly got: 'gone' };

/** Reads the body; one above the limit is not kept, and a client that went away in the middle has sent nothing. */
export function readBody(request: IncomingMessage): Promise<ReadBody> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bodyBytesMax) chunks.push(chunk);
      // The rest keeps flowing into nothing: a client that is still writing would not read the answer.
      else resolve({ got: 'too-large' });
    });
    request.on('end', () => resolve({ got: 'text', text: Buffer.concat(chunks).toString('utf8') }));
    request.on('error', () => resolve({ got: 'gone' }));
    request.on('close', () => resolve({ got: 'gone' }));
  });
}

/** Answers in JSON; false when the client had gone and nothing could leave. */
export function answer(response: ServerResponse, status: number, body: object, headers: object = {}): boolean {
  return send(response, status, JSON.stringify(body), headers);
}

/** Answers with a good status and a body that no parser accepts. */
export function answerGarbage(response: ServerResponse, status: number): boolean {
  return send(response, status, '{"id": "', {});
}

/** Destroys the connection: the client sees it break and learns nothing. */
export function drop(response: ServerResponse): void {
  response.socket?.destroy();
}

function send(response: ServerResponse, status: number, text: string, headers: object): boolean {
  if (response.socket === null || response.socket.destroyed) return false;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
  return true;
}
