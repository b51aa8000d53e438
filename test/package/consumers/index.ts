import * as root from 'sagacity';

export const names: readonly string[] = Object.keys(root);
