/**
 * One client and the server behind it. Bytes go through the filter, if there is one, and then through the flow of
 * their direction. A FIN or an RST of one side reaches the other in its place behind the bytes, and is subject to the
 * fault like them.
 */

import { connect, type Socket } from 'node:net';
import type { Fault } from './faults.ts';
import { type Flow, flow } from './flow.ts';

/** Sees the bytes of one connection before the fault does, and says which of them go on. */
export interface Filter {
  toServer(bytes: Buffer): Filtered;
  toClient(bytes: Buffer): Filtered;
}

export interface Filtered {
  /** What goes on; may be empty. */
  readonly bytes: Buffer;
  /** The connection is cut as soon as the client was sent what goes on to it. */
  readonly cut?: boolean;
}

export interface Connection {
  readonly sockets: readonly Socket[];
  treat(fault: Fault): void;
}

export interface Target {
  /** 127.0.0.1 unless said otherwise. */
  readonly host?: string;
  readonly port: number;
}

/** Without a filter everything goes on. */
export function connection(client: Socket, target: Target, fault: Fault, filter?: Filter): Connection {
  const { host = '127.0.0.1', port } = target;
  const server = connect({ host, port, allowHalfOpen: true, noDelay: true });
  const cut = () => {
    client.destroy();
    server.destroy();
  };
  const initial = fault();
  const toServer = flow('to-server', server, initial, cut);
  const toClient = flow('to-client', client, initial, cut);
  const carry = (through: Flow, filtered: Filtered) => {
    if (filtered.bytes.length > 0) through.push(filtered.bytes);
    if (filtered.cut === true) toClient.finish(() => void client.end(cut));
  };

  relay(client, server, toServer, (bytes) => carry(toServer, filter?.toServer(bytes) ?? { bytes }));
  relay(server, client, toClient, (bytes) => carry(toClient, filter?.toClient(bytes) ?? { bytes }));
  return {
    sockets: [client, server],
    treat(next) {
      const treatment = next();
      toServer.treat(treatment);
      toClient.treat(treatment);
    },
  };
}

/** A client that is accepted, and answered never. */
export function hungConnection(client: Socket): Connection {
  client.on('data', () => {});
  client.on('error', () => {});
  client.on('end', () => client.destroy());
  return { sockets: [client], treat() {} };
}

function relay(from: Socket, to: Socket, through: Flow, carry: (bytes: Buffer) => void): void {
  from.on('data', carry);
  from.on('end', () => through.finish(() => void to.end()));
  // An error is always followed by the close that is acted upon.
  from.on('error', () => {});
  from.on('close', (hadError) => {
    if (hadError) through.finish(() => void to.resetAndDestroy());
  });
}
