/**
 * Writes `migrations.ts` from the SQL files that the journal lists, so that a running library reads no file. The
 * files are the authority: run `npx tsx drizzle/embed.ts` after each change; a test compares the two.
 */

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

interface Journal {
  readonly entries: readonly { readonly idx: number; readonly tag: string }[];
}

/** The text of `migrations.ts` that belongs to the SQL files as they are now. */
export function embeddedMigrations(): string {
  // drizzle-kit wrote this file, in its own documented form.
  const journal = JSON.parse(read('meta/_journal.json')) as Journal;
  const entries = journal.entries.map(({ idx, tag }) => embedded(idx, tag, read(`${tag}.sql`)));
  return `${opening}\nexport const migrations: readonly Migration[] = [\n${entries.join('')}];\n`;
}

const opening = `/**
 * The migrations as text, written by \`drizzle/embed.ts\`: do not edit. A published migration never changes; its
 * checksum is compared with what a database says it ran.
 */

export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly sql: string;
}
`;

function embedded(number: number, name: string, sql: string): string {
  const checksum = createHash('sha256').update(sql).digest('hex');
  const literal = sql.replace(/[\\`]|\$\{/g, (special) => `\\${special}`);
  return (
    `  {\n    number: ${number},\n    name: '${name}',\n    checksum: '${checksum}',\n` +
    `    sql: \`${literal}\`,\n  },\n`
  );
}

function read(path: string): string {
  return readFileSync(new URL(path, import.meta.url), 'utf8');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(fileURLToPath(new URL('migrations.ts', import.meta.url)), embeddedMigrations());
}
