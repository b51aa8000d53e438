import type { Store } from 'sagacity';
import { postgresStore, tables } from 'sagacity/postgres';

export const store: Store = postgresStore({ url: 'postgres://shop@db.internal/shop', schema: 'shop_sagacity' });
export const pooled: Store = postgresStore({ url: 'postgres://shop@pooler.internal/shop', pooler: true });
export const owner = tables.operation.owner;
