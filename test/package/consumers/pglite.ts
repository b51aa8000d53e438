import * as pglite from 'sagacity/pglite';

export const names: readonly string[] = Object.keys(pglite);
