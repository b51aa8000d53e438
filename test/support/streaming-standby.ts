/** A standby of a private PostgreSQL server: a server of its own that streams from it, as replicas do. */

import { execFile } from 'node:child_process';
import { appendFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type PrivatePostgres, privatePostgres } from '../../src/testing/private-postgres/private-postgres.ts';
import { run } from './other-users.ts';
import { until } from './world.ts';

/** Restarts the primary to copy its data. Resolves when the standby streams; it names itself `replica`. */
export async function streamingStandby(primary: PrivatePostgres): Promise<PrivatePostgres> {
  const standby = await privatePostgres();
  try {
    await Promise.all([standby.stop('immediate'), primary.stop()]);
    await rm(dataOf(standby), { recursive: true });
    // With its owner, who is not who runs the tests.
    await promisify(execFile)('cp', ['-a', dataOf(primary), dataOf(standby)]);
    await writeFile(join(dataOf(standby), 'standby.signal'), '');
    const { host, port } = primary;
    const conninfo = `host=${host} port=${port} user=postgres application_name=replica`;
    await appendFile(join(dataOf(standby), 'postgresql.conf'), `primary_conninfo = '${conninfo}'\n`);
    await primary.start();
    await standby.start();
    await replicationIs(primary, "state = 'streaming'");
    return standby;
  } catch (error) {
    await standby.close();
    throw error;
  }
}

/** Waits until the primary says this of a standby. */
export async function replicationIs({ url }: PrivatePostgres, condition: string): Promise<void> {
  await until(async () => {
    const found = await run(url, `select from pg_stat_replication where ${condition}`);
    return found.length > 0 ? true : null;
  }, `a standby of which ${condition}`);
}

function dataOf({ log }: PrivatePostgres): string {
  return join(dirname(log), 'data');
}
