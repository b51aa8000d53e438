/**
 * A worker in a process of its own. It brings each of its charges to the point where that shall halt, and once all of
 * them are there it is killed, so that one kill finds operations at many points.
 */

import { createOrchestrator } from 'sagacity';
import { pgliteStore } from 'sagacity/pglite';
import { providerAt } from 'sagacity/testing';
import type { Turn } from '../../src/ports/store.ts';
import { type Charging, idOfCharge, quickCharge, type WorkerReport, type WorkerTask } from './crash.ts';
import { type Gate, gate, interrupted, tells } from './interrupted.ts';
import { told } from './timed.ts';

// The test that started this process wrote it.
const { directory, url, charges, dieBefore, settle } = JSON.parse(process.argv[2] ?? '') as WorkerTask;

const definition = quickCharge(url);
const provider = providerAt(url);
const halts = new Map(charges.map((charging) => [idOfCharge(charging.orderId), haltOf(charging)]));
const store = interrupted(pgliteStore(directory), {
  before(turn) {
    if (dieBefore !== undefined && tells(turn, dieBefore)) return die();
    return halts.get(turn.id)?.('before', turn);
  },
  after: (turn) => halts.get(turn.id)?.('after', turn),
});
const orchestrator = createOrchestrator({ store, definitions: [definition], tenant: 'shop-1', sweepEvery: '100ms' });
const gates = new Map<string, Gate>();

await orchestrator.start();
for (const charging of charges) await charge(charging);
if (charges.some(({ haltAt }) => haltAt !== undefined)) await die();
for (const id of settle) {
  const run = await orchestrator.run(id);
  const result = await run.result({ within: '30s' });
  const report: WorkerReport = { id, result, history: await told(run) };
  console.log(JSON.stringify(report));
}
await orchestrator.stop();

async function charge({ orderId, calls = [], haltAt }: Charging): Promise<void> {
  await provider.calls(calls);
  const submitting = orchestrator.submit(definition, { orderId, amount: 5 });
  if (haltAt === undefined) {
    const run = await submitting;
    await run.result({ within: '30s' });
  } else if ('logged' in haltAt) {
    await provider.logged(({ event }) => event === haltAt.logged);
  } else {
    await gateOf(orderId).reached;
  }
}

/** Holds a charge's turns at its point, for good. */
function haltOf({ orderId, haltAt }: Charging): (side: 'before' | 'after', turn: Turn) => Promise<void> | undefined {
  let passed = 0;
  return (side, turn) => {
    if (haltAt === undefined || 'logged' in haltAt || side !== haltAt.side || !tells(turn, haltAt.turn))
      return undefined;
    passed += 1;
    return passed < (haltAt.nth ?? 1) ? undefined : gateOf(orderId).pass();
  };
}

function gateOf(orderId: string): Gate {
  const found = gates.get(orderId) ?? gate();
  gates.set(orderId, found);
  return found;
}

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}
