/**
 * Puts a defect into a process that is started with tsx: `node --import <this> --import tsx ...`, in this order. Node
 * asks the hooks that were registered last first, so tsx, which comes later, gets its TypeScript from `hooks.mjs`. This
 * file is JavaScript because it runs before anything here understands TypeScript.
 */

import { register } from 'node:module';
import { tsImport } from 'tsx/esm/api';

const { plantedHere } = await tsImport('./planted.ts', import.meta.url);
const planted = await plantedHere();
if (planted !== null) register('./hooks.mjs', import.meta.url, { data: planted });
