import type { Store } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';

export const inMemory: Store = pgliteStore();
export const onDisk: () => Store = () => pgliteStore({ directory: './data', deadlineMs: 5000 });
