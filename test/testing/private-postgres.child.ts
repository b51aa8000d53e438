/** Starts a private cluster, says where it is, and leaves it running. */

import { privatePostgres } from '../../src/testing/private-postgres/private-postgres.ts';

const { pid, port, log } = await privatePostgres();
console.log(JSON.stringify({ pid, port, log }));
