/**
 * What this company really did. The ledger only grows: a record that was committed is never changed or taken out,
 * and with a file it is on disk before any reply can leave. It is the proof that tests count, so it knows nothing
 * of faults; who may add a record is decided before it is asked. A file that cannot be read back stops the start,
 * because a provider that forgot its past would prove the wrong thing.
 */

import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { canonicalText, isObject } from './payload.ts';
import type { JsonObject } from './payload.ts';

export interface LedgerRecord {
  readonly n: number;
  readonly kind: string;
  readonly id: string;
  /** The key as it came, if one came; a keyless path stores it and pays no attention to it. */
  readonly key: string | null;
  readonly keyless: boolean;
  readonly body: JsonObject;
  /** From this moment the idempotency layer no longer knows the key; the record stays. */
  readonly forgottenAt: number | null;
  /** Before this moment no look-up sees the record. */
  readonly visibleAt: number | null;
}

export interface NewRecord {
  readonly kind: string;
  readonly key: string | null;
  readonly keyless: boolean;
  readonly body: JsonObject;
  readonly forgottenAt: number | null;
  readonly visibleAt: number | null;
}

export interface Ledger {
  /** Stores a record; when this returns it is in the file, if there is one. */
  commit(record: NewRecord): LedgerRecord;
  /** The record that answers for the key, if the idempotency layer still knows it. */
  known(kind: string, key: string): LedgerRecord | undefined;
  /** What a look-up by key sees: usually none or one, more only when a promise was broken. */
  visibleByKey(kind: string, key: string): readonly LedgerRecord[];
  /** What a look-up by order sees on the path that ignores keys. */
  visibleByReference(kind: string, reference: string): readonly LedgerRecord[];
  all(): readonly LedgerRecord[];
  /** Starts an empty ledger; in a file the old lines stay and a line says that they no longer count. */
  reset(): void;
}

export function openLedger(file: string | undefined, now: () => number): Ledger {
  let records: LedgerRecord[] = [];
  const perKind = new Map<string, number>();
  const perKey = new Map<string, LedgerRecord[]>();

  const write = (line: object) => {
    if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`);
  };
  const keep = (record: LedgerRecord) => {
    records.push(record);
    perKind.set(record.kind, (perKind.get(record.kind) ?? 0) + 1);
    if (record.keyless || record.key === null) return;
    const place = `${record.kind} ${record.key}`;
    perKey.set(place, [...(perKey.get(place) ?? []), record]);
  };
  const under = (kind: string, key: string) => perKey.get(`${kind} ${key}`) ?? [];
  const visible = (record: LedgerRecord) => record.visibleAt === null || now() >= record.visibleAt;

  if (file !== undefined) readBack(file).forEach(keep);

  return {
    commit(record) {
      const id = `${record.kind}_${(perKind.get(record.kind) ?? 0) + 1}`;
      const committed = { n: records.length + 1, id, ...record };
      write(committed);
      keep(committed);
      return committed;
    },
    known(kind, key) {
      return under(kind, key).find(({ forgottenAt }) => forgottenAt === null || now() < forgottenAt);
    },
    visibleByKey(kind, key) {
      return under(kind, key).filter(visible);
    },
    visibleByReference(kind, reference) {
      return records.filter(
        (record) => record.keyless && record.kind === kind && record.body['orderId'] === reference && visible(record),
      );
    },
    all: () => records,
    reset() {
      write({ reset: true });
      records = [];
      perKind.clear();
      perKey.clear();
    },
  };
}

/** The record as the company shows it to a client: its own three fields always win over fields of the same name. */
export function shownRecord(record: LedgerRecord): JsonObject {
  const own = { id: record.id, kind: record.kind, key: record.key };
  return { ...own, ...record.body, ...own };
}

/** Whether a later body is the same request as the one that made the record. */
export function samePayload(record: LedgerRecord, canonical: string): boolean {
  return canonicalText(record.body) === canonical;
}

function readBack(file: string): LedgerRecord[] {
  if (!existsSync(file)) return [];
  const bytes = readFileSync(file);
  // A line without its end was cut off by a kill before any reply left: it never counted, and it must go before
  // the next line is appended to it.
  const whole = bytes.lastIndexOf(0x0a) + 1;
  if (whole < bytes.length) truncateSync(file, whole);
  let records: LedgerRecord[] = [];
  const lines = bytes.subarray(0, whole).toString('utf8').split('\n').slice(0, -1);
  for (const [index, line] of lines.entries()) {
    const entry = readLine(line);
    if (entry === 'reset') records = [];
    else if (entry !== undefined && entry.n === records.length + 1) records.push(entry);
    else
      throw new Error(
        `Ledger ${file}, line ${index + 1} is not the next record of a ledger. Move the file away to start anew.`,
      );
  }
  return records;
}

function readLine(line: string): LedgerRecord | 'reset' | undefined {
  let entry: unknown;
  try {
    entry = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isObject(entry)) return undefined;
  if (entry['reset'] === true) return 'reset';
  const { n, kind, id, key, keyless, body, forgottenAt, visibleAt } = entry;
  if (typeof n !== 'number' || typeof kind !== 'string' || typeof id !== 'string' || typeof keyless !== 'boolean')
    return undefined;
  if (!(key === null || typeof key === 'string') || !isObject(body)) return undefined;
  if (!(forgottenAt === null || typeof forgottenAt === 'number')) return undefined;
  if (!(visibleAt === null || typeof visibleAt === 'number')) return undefined;
  return { n, kind, id, key, keyless, body, forgottenAt, visibleAt };
}
