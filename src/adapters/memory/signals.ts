/**
 * The rules of events from outside in memory: each is kept once under its name and id, for a saga that need not be there
 * yet, and what a turn says of it stands once it is final. As in `rows.ts`, nothing here waits, reads a clock or copies.
 */

import type { Json } from '../../domain/json.ts';
import {
  type NewSignal,
  type OperationRef,
  type SignalChange,
  type SignalRef,
  type SignalRow,
} from '../../ports/store.ts';
import { handOver, type Rows } from './rows.ts';

export function signal(rows: Rows, { handoverId, body, keepForMs, ...given }: NewSignal, now: number): SignalRow {
  const name = signalName(given);
  const before = rows.signals.get(name);
  if (before !== undefined) return { ...before, now };
  const expiresAt = now + Math.ceil(keepForMs);
  const kept = { ...given, state: 'new', why: null, at: now, expiresAt } as const;
  rows.signals.set(name, kept);
  const { tenant, id } = given;
  handOver(rows, { tenant, id, handoverId, body: withExpiry(body, expiresAt) }, now);
  return { ...kept, now };
}

export function readSignal({ signals }: Rows, ref: SignalRef, now: number): SignalRow | null {
  const kept = signals.get(signalName(ref));
  return kept === undefined ? null : { ...kept, now };
}

export function changeSignals({ signals }: Rows, { tenant, id }: OperationRef, changes: readonly SignalChange[]): void {
  for (const { name, eventId, state, why } of changes) {
    const key = signalName({ tenant, id, name, eventId });
    const kept = signals.get(key);
    const isOpen = kept?.state === 'new' || kept?.state === 'kept';
    if (kept !== undefined && isOpen) signals.set(key, { ...kept, state, why });
  }
}

function signalName({ tenant, id, name, eventId }: SignalRef): string {
  return JSON.stringify([tenant, id, name, eventId]);
}

function withExpiry(body: Json, expiresAt: number): Json {
  // The port demands an object.
  return { ...(body as { readonly [field: string]: Json }), expiresAt };
}
