import * as testing from 'sagacity/testing';

export const names: readonly string[] = Object.keys(testing);
