/**
 * What happens to a POST. The ledger is the authority for what was done; what the caller is told about it may be
 * late, false or missing, exactly as the scripts say. A key makes one record, unless the provider was told to lie
 * or to forget, and an effect that was begun is finished whether or not anybody still listens.
 *
 * A mode told to this call decides alone. Without one, a new operation takes the next fault; a replay takes none.
 */

import { pause } from './clock.ts';
import type { ProviderClock } from './clock.ts';
import { readBody } from './exchange.ts';
import { samePayload, shownRecord } from './ledger.ts';
import type { Ledger, LedgerRecord } from './ledger.ts';
import { callModes } from './modes.ts';
import type { CallBehaviour, CallModeName, LookupModeName, Mode } from './modes.ts';
import { readPayload } from './payload.ts';
import type { JsonObject } from './payload.ts';
import { strikingScript } from './script.ts';
import type { Script } from './script.ts';
import { noteMode, reject, reply, replyGarbage, replyNothing } from './visit.ts';
import type { Visit } from './visit.ts';

export interface Operations {
  /** One mode per POST, whatever its key. */
  readonly calls: Script<CallModeName>;
  /** One mode per new operation. */
  readonly faults: Script<CallModeName>;
  post(visit: Visit): Promise<void>;
  /** Lets held replies go; returns how many there were. */
  release(which: { readonly kind?: string; readonly key?: string }): number;
  reset(): void;
}

type Done = { readonly did: 'stored' | 'replayed'; readonly record: LedgerRecord } | { readonly did: 'mismatch' };
type Payload = { readonly body: JsonObject; readonly canonical: string };
type HoldEnd = 'RELEASED' | 'GONE';

const ok: Mode<CallModeName> = { name: 'ok' };
const reused = 'idempotency_key_reused_with_different_payload';
const busy = 'idempotency_key_in_flight';

export function openOperations(ledger: Ledger, lookups: Script<LookupModeName>, clock: ProviderClock): Operations {
  const calls = strikingScript<CallModeName>();
  const faults = strikingScript<CallModeName>();
  const inFlight = new Set<string>();
  const holds = new Map<Visit, (how: HoldEnd) => void>();

  async function post(visit: Visit): Promise<void> {
    const told = calls.take(visit.kind);
    if (told !== undefined) noteMode(visit, told);
    const body = await readBody(visit.request);
    if (body.got === 'gone' || !visit.stillCounts()) return;
    if (body.got === 'too-large') return reject(visit, 413, 'body_too_large', { connection: 'close' });
    if (visit.key === null && !visit.keyless) return reject(visit, 400, 'idempotency_key_required');
    const payload = readPayload(body.text);
    if (!payload.ok) return reject(visit, 400, payload.error);

    const place = placeOf(visit);
    const isBusy = place !== undefined && inFlight.has(place);
    const isNew = !isBusy && known(visit) === undefined;
    const mode = told ?? (isNew ? faults.take(visit.kind) : undefined) ?? ok;
    const behaviour = callModes[mode.name];
    noteMode(visit, mode);

    if (isNew) visit.open.log('NEW');
    if (behaviour.effect === 'none') return refuse(visit, behaviour, isNew);
    if (behaviour.pace === 'late') return arriveLate(visit, payload, mode);
    if (isBusy && behaviour.effect !== 'twice') return reject(visit, 409, busy);
    if (behaviour.pace === 'slow') {
      if (place !== undefined) inFlight.add(place);
      await pause(clock, mode.ms);
      if (!visit.stillCounts()) return;
      if (place !== undefined) inFlight.delete(place);
    }
    const done = execute(visit, payload, mode);
    if (behaviour.effect === 'twice' && done.did === 'stored') {
      // One NEW line a record: for a known key this record is the second, for a new one the second follows.
      visit.open.log('NEW');
      if (isNew) execute(visit, payload, mode);
    }
    await deliver(visit, done, behaviour);
  }

  function known({ kind, key, keyless }: Visit): LedgerRecord | undefined {
    return keyless || key === null ? undefined : ledger.known(kind, key);
  }

  function refuse(visit: Visit, behaviour: CallBehaviour, isNew: boolean): void {
    if (typeof behaviour.reply !== 'object') return replyNothing(visit);
    const { status, error } = behaviour.reply;
    if (!isNew) visit.open.log('REJECTED', { status });
    reply(visit, status, error);
  }

  // A late request meets the ledger as it is on arrival: by then its key may be busy or used.
  async function arriveLate(visit: Visit, payload: Payload, mode: Mode<CallModeName>): Promise<void> {
    replyNothing(visit);
    await pause(clock, mode.ms);
    if (!visit.stillCounts()) return;
    const place = placeOf(visit);
    if (place !== undefined && inFlight.has(place)) return visit.open.log('REJECTED', { reason: busy });
    const done = execute(visit, payload, mode);
    if (done.did === 'mismatch') visit.open.log('REJECTED', { reason: reused });
    else visit.open.log(done.did === 'stored' ? 'ARRIVED' : 'REPLAY', { id: done.record.id });
  }

  function execute(visit: Visit, payload: Payload, mode: Mode<CallModeName>): Done {
    const { kind, key, keyless } = visit;
    const { effect, sequel } = callModes[mode.name];
    const earlier = known(visit);
    if (earlier !== undefined && !samePayload(earlier, payload.canonical)) return { did: 'mismatch' };
    if (sequel === 'lookup500') {
      lookups.append([mode.ms === undefined ? { name: 'lookup500' } : { name: 'lookup500', ms: mode.ms }], kind);
    }
    if (earlier !== undefined && effect !== 'twice') return { did: 'replayed', record: earlier };
    const later = clock.now() + (mode.ms ?? 0);
    const forgottenAt = sequel === 'forget' ? later : null;
    const visibleAt = sequel === 'lag' ? later : null;
    return { did: 'stored', record: ledger.commit({ kind, key, keyless, body: payload.body, forgottenAt, visibleAt }) };
  }

  async function deliver(visit: Visit, done: Done, behaviour: CallBehaviour): Promise<void> {
    if (done.did === 'replayed') visit.open.log('REPLAY', { id: done.record.id });
    if (behaviour.reply === 'drop') return replyNothing(visit);
    if (done.did === 'mismatch') return reject(visit, 422, reused);
    if (typeof behaviour.reply === 'object') return reply(visit, behaviour.reply.status, behaviour.reply.error);
    if (behaviour.reply === 'hold' && (await hold(visit, done.record)) === 'GONE') return;
    const status = done.did === 'stored' ? 201 : 200;
    if (behaviour.reply === 'garbage') return replyGarbage(visit, status);
    reply(visit, status, shownRecord(done.record), done.did === 'stored' ? {} : { 'idempotent-replayed': 'true' });
  }

  function hold(visit: Visit, record: LedgerRecord): Promise<HoldEnd> {
    const place = placeOf(visit);
    if (place !== undefined) inFlight.add(place);
    return new Promise((resolve) => {
      const end = (how: HoldEnd) => {
        if (!holds.delete(visit)) return;
        // The key is free before the log says so: whoever waits for the line may send again at once.
        if (place !== undefined) inFlight.delete(place);
        visit.open.log(how, { id: record.id });
        resolve(how);
      };
      holds.set(visit, end);
      visit.response.once('close', () => end('GONE'));
      visit.open.log('HOLD', { id: record.id });
      if (visit.response.closed) end('GONE');
    });
  }

  return {
    calls,
    faults,
    post,
    release({ kind, key }) {
      const matching = [...holds].filter(
        ([visit]) => (kind === undefined || visit.kind === kind) && (key === undefined || visit.key === key),
      );
      for (const [, end] of matching) end('RELEASED');
      return matching.length;
    },
    reset() {
      calls.clear();
      faults.clear();
      inFlight.clear();
      holds.clear();
    },
  };
}

function placeOf({ kind, key, keyless }: Visit): string | undefined {
  return keyless || key === null ? undefined : `${kind} ${key}`;
}
