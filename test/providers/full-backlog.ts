/**
 * A port of loopback that answers no SYN any more, as a host behind a firewall does: a process listens on it and never
 * accepts, and its backlog is full. The kernel answers for a process, so it takes one that stands still.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

const standStill = `
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    process.send(server.address().port, () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;

/** More than a backlog of 1 holds. */
const fillers = 8;

export async function fullBacklog(): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const child = spawn(process.execPath, ['-e', standStill], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const [port] = (await once(child, 'message')) as [number];
  const sockets = Array.from({ length: fillers }, () => connect(port, '127.0.0.1').on('error', () => undefined));
  await Promise.race(sockets.map((socket) => once(socket, 'connect')));
  return {
    port,
    async close() {
      for (const socket of sockets) socket.destroy();
      child.kill('SIGKILL');
      await exited;
    },
  };
}
