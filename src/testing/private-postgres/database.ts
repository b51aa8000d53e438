/** Makes databases in a cluster. */

import { randomBytes } from 'node:crypto';
import postgres from 'postgres';

/**
 * Creates a database with a random name in the cluster that a url leads to: an empty one, or a copy of the `template`,
 * to which nobody may be connected. Resolves with its url.
 */
export async function createDatabase(url: string, template = 'template1'): Promise<string> {
  const name = `database_${randomBytes(8).toString('hex')}`;
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => {} });
  try {
    await sql`create database ${sql(name)} template ${sql(template)}`;
  } finally {
    await sql.end();
  }
  const created = new URL(url);
  created.pathname = name;
  return created.href;
}
