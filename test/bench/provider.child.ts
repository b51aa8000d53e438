/**
 * The other company of the benchmark, in a process of its own: it answers every charge at once, and counts effects by
 * their keys. Told anything, it says what it counted so far and begins anew.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ProviderSaid {
  readonly port?: number;
  /** How many requests there were, and how many different keys they had. */
  readonly counted?: { readonly requests: number; readonly keys: number };
}

const reply = JSON.stringify({ id: 'pay_1', status: 'authorised', amountMinor: '12000', currency: 'EUR' });
const headers = { 'content-type': 'application/json', 'content-length': reply.length };

let requests = 0;
let keys = new Set<unknown>();

const server = createServer((request, response) => {
  requests += 1;
  keys.add(request.headers['idempotency-key']);
  request.resume().once('end', () => response.writeHead(201, headers).end(reply));
});

server.listen(0, '127.0.0.1', () => {
  // A server that listens on a port has such an address.
  say({ port: (server.address() as AddressInfo).port });
});
process.on('message', () => {
  say({ counted: { requests, keys: keys.size } });
  requests = 0;
  keys = new Set();
});
process.on('disconnect', () => process.exit());

function say(what: ProviderSaid): void {
  process.send?.(what);
}
