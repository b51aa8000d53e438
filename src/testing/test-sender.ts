/**
 * Where `http` leads in a test orchestrator: to test providers instead of the network, whatever the host of an address.
 * Everything above the wire is the library's own sender, so that keys, outcomes and evidence are those of production.
 */

import type { Clock } from '../ports/clock.ts';
import type { Sender } from '../ports/sender.ts';
import { accessTo } from '../providers/access.ts';
import type { Arrival, Departure, Outgoing } from '../providers/arrival.ts';
import { managedSender } from '../providers/sender.ts';
import { testFetch } from './test-provider.ts';

export function testSender(clock: Clock): Sender {
  return managedSender({
    clock,
    accessTo: accessTo({}),
    dispatch: (_provider, outgoing, departure) => visit(outgoing, departure),
    open: () => Promise.resolve(),
    close: () => Promise.resolve(),
  });
}

/** No time passes on this wire. */
const timings = { gateMs: 0, headMs: 0, endMs: 0 };
const evidence = { timings, error: null, bodyDigest: null, refusedStream: false };

async function visit({ url, method, headers, body }: Outgoing, { mayLeave }: Departure): Promise<Arrival> {
  const objection = mayLeave();
  if (objection !== null) return { gate: 'shut', reason: objection, ...evidence };
  try {
    const response = await testFetch(url, { method, headers, body });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const told = Object.fromEntries(response.headers);
    return { gate: 'opened', status: response.status, headers: told, body: { type: 'whole', bytes }, ...evidence };
  } catch {
    return { gate: 'opened', status: null, reason: 'connection-lost', ...evidence };
  }
}
