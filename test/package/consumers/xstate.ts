import * as xstate from 'sagacity/xstate';

export const names: readonly string[] = Object.keys(xstate);
