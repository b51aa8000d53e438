/** What drizzle-kit generates from: it looks only at what a module exports, and at the schema itself as well. */

import { pgSchema } from 'drizzle-orm/pg-core';
import { DEFAULT_SCHEMA, tables } from '../src/adapters/postgres/schema.ts';

export const sagacity = pgSchema(DEFAULT_SCHEMA);
export const { operation, saga, attempt, handover, signal, lock, worker, timeline, migration } = tables;
