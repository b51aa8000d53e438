/** Writes turn after turn into the directory it is given and says each one that was acknowledged, until it is killed. */

import { pgliteStore } from '../../src/pglite.ts';
import type { Turn } from '../../src/ports/store.ts';

const [directory = ''] = process.argv.slice(2);
const store = pgliteStore(directory);
await store.open();
await Promise.all(['a', 'b', 'c', 'd'].map(write));

async function write(lane: string): Promise<void> {
  for (let n = 0; ; n += 1) {
    const id = `${lane}${n}`;
    for (let revision = 0; revision < 3; revision += 1) {
      const receipt = await store.turn(turn(id, revision));
      console.log(`${id} ${receipt?.revision}`);
    }
  }
}

function turn(id: string, revision: number): Turn {
  return {
    tenant: 'shop',
    id,
    turn: `${id}/${revision}`,
    birth:
      revision > 0
        ? null
        : { tenant: 'shop', action: 'payment.authorise', key: id, providerKey: id, fingerprint: 'fp', input: { id } },
    was: revision > 0 ? { owner: null, generation: 1, revision } : null,
    owner: null,
    generation: 1,
    state: 'pending',
    dueInMs: null,
    reason: null,
    contradicted: false,
    format: 1,
    snapshot: { revision },
    output: null,
    start: null,
    records: [{ kind: 'moved', attempt: null, body: { revision } }],
    takes: [],
  };
}
