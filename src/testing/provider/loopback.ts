/** An HTTP server on 127.0.0.1 and nowhere else: whoever stands behind it can be told to lie. */

import { createServer, type RequestListener } from 'node:http';

export interface RunningServer {
  readonly url: string;
  /** Breaks every open connection and stops listening. */
  close(): Promise<void>;
}

export const loopback = '127.0.0.1';

/** Resolves when it listens, on a free port unless one is given. */
export async function listenOnLoopback(serve: RequestListener, port = 0): Promise<RunningServer> {
  const server = createServer(serve);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, loopback, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on no port.');
  return {
    url: `http://${loopback}:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
