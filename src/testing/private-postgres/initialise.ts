/** Makes a cluster: its data folder, in which only the user postgres exists, and its settings. */

import { once } from 'node:events';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Guard } from '../guard.ts';

type Settings = Readonly<Record<string, string>>;

export interface Installation {
  /** The folder with the programs. */
  readonly bin: string;
  readonly data: string;
  readonly log: string;
  readonly guard: Guard;
}

/** Anybody on this machine may log in, on loopback; nobody else can reach it. */
const flags = ['--auth=trust', '--no-locale', '--encoding=UTF8', '--username=postgres', '--no-sync'];

const defaults: Settings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '200' };

export async function initialise({ bin, data, guard }: Installation, settings: Settings): Promise<void> {
  const child = guard.launch(join(bin, 'initdb'), [...flags, `--pgdata=${data}`], ['ignore', 'pipe', 'pipe']);
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => said.push(chunk.toString('utf8')));
  }
  await once(child, 'close');
  if (child.exitCode !== 0) {
    const how = child.signalCode ?? `exit ${child.exitCode}`;
    throw new Error(`${join(bin, 'initdb')} failed (${how}). The end of what it said:\n${said.join('').slice(-2_000)}`);
  }
  const lines = Object.entries({ ...defaults, ...settings }).map(([name, value]) => `${name} = ${quoted(value)}\n`);
  await appendFile(join(data, 'postgresql.conf'), lines.join(''));
}

function quoted(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
}
