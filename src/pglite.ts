/** `sagacity/pglite`: the store that needs no server. */

export { pgliteStore, type PgliteStoreOptions } from './adapters/pglite/store.ts';
