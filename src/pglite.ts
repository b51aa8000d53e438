/** `sagacity/pglite`: the store that needs no server. */

import './ports/copies.ts';

export { pgliteStore, type PgliteStoreOptions } from './adapters/pglite/store.ts';
