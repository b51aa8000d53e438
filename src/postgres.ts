/** `sagacity/postgres`: the store on a PostgreSQL server, for as many processes as there are. */

import './ports/copies.ts';

export { postgresStore, type PostgresStoreOptions } from './adapters/postgres/store.ts';
export { migrate, type MigrateOptions, migrationSql, missingMigrations } from './adapters/postgres/migrate-database.ts';
export type { MigrationName } from './adapters/postgres/migrate.ts';
export { type Tables, tables } from './adapters/postgres/schema.ts';
