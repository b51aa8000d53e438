/** A standby of a private PostgreSQL server: a server of its own that streams from it, as replicas do. */

import { execFile } from 'node:child_process';
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { PrivatePostgres } from '../../src/testing/private-postgres/private-postgres.ts';

/**
 * Another private server becomes a standby: it begins with the primary's data, from when that was down for it, and
 * streams all that comes later, under the name `replica`. `port` is where it looks for the primary.
 */
export async function copyAsStandby(
  primary: PrivatePostgres,
  standby: PrivatePostgres,
  port = primary.port,
): Promise<void> {
  await Promise.all([primary.stop(), standby.stop()]);
  const data = dataOf(standby);
  await rm(data, { recursive: true });
  // With its owner, who is not who runs the tests.
  await promisify(execFile)('cp', ['-a', dataOf(primary), data]);
  const source = `host=127.0.0.1 port=${port} user=postgres application_name=replica`;
  await appendFile(join(data, 'postgresql.conf'), `primary_conninfo = '${source}'\n`);
  await writeFile(join(data, 'standby.signal'), '');
  await primary.start();
  await standby.start();
}

function dataOf({ log }: PrivatePostgres): string {
  return join(dirname(log), 'data');
}
