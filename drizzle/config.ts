/** What drizzle-kit reads: `npx drizzle-kit generate --config drizzle/config.ts` writes the next numbered SQL file. */

import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './drizzle/tables.ts',
  out: './drizzle',
  schemaFilter: ['sagacity'],
});
