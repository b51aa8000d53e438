/** Users of a test's database with fewer rights than its owner, and SQL of a test's own in one line. */

import { databaseAt } from './postgres.ts';

let roles = 0;

/** Creates a role of its own, for roles belong to the whole cluster; its name. */
export async function role(owner: string, attributes: string): Promise<string> {
  roles += 1;
  const name = `clerk_${new URL(owner).pathname.slice(1)}_${roles}`;
  await run(owner, `create role ${name} ${attributes}`);
  return name;
}

/** The same url, of another user. */
export function as(url: string, user: string): string {
  const changed = new URL(url);
  changed.username = user;
  return changed.href;
}

/** Everything that the store needs, as the documents ask for it. */
export function grants(user: string): string {
  return (
    `grant usage on schema sagacity to ${user}; ` +
    `grant select, insert, update, delete on all tables in schema sagacity to ${user}`
  );
}

/** Runs statements at a database, on a connection of their own. */
export async function run(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const sql = databaseAt(url);
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end();
  }
}
