/** Locks the directory it is given when told to, says what came of it, and holds it until its input ends. */

import { once } from 'node:events';
import { lockDirectory } from '../../src/adapters/pglite/lock.ts';

const [directory = ''] = process.argv.slice(2);

console.log('ready');
await once(process.stdin, 'data');
const lock = await lockDirectory(directory).catch((error: Error) => {
  console.log(`refused ${error.message}`);
  return null;
});
if (lock !== null) console.log('locked');
await once(process.stdin, 'end');
await lock?.release();
