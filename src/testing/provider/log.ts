/**
 * What the provider received and what it made of it, in order. A request is noted when its head arrives, before
 * anything can go wrong with it, so the keys in this log are the keys that were sent, whatever became of the
 * replies. Entries are only ever added; whoever waits for one is told as soon as it is there.
 */

/** A request to the business paths. `status` is null while no reply has left, and stays so when none ever does. */
export interface ReceivedRequest {
  readonly n: number;
  readonly method: string;
  readonly path: string;
  readonly key: string | null;
  readonly kind: string | null;
  readonly fault: string | null;
  readonly status: number | null;
}

/**
 * NEW: a new operation began. REPLAY: a known key was answered from its record. REJECTED: missing, reused or busy
 * key, or an unreadable body. HOLD: committed, and the reply is held. RELEASED, GONE: the end of a hold, by us or
 * by the client. DROPPED: the connection was destroyed instead of a reply. ARRIVED: a late request took effect.
 * LOOKUP: a look-up was answered.
 */
export type LogEvent = 'NEW' | 'REPLAY' | 'REJECTED' | 'HOLD' | 'RELEASED' | 'GONE' | 'DROPPED' | 'ARRIVED' | 'LOOKUP';

/** One line of the log; `n` is the request it belongs to, `id` the record it concerns. */
export interface LogEntry {
  readonly seq: number;
  readonly event: LogEvent;
  readonly n: number;
  readonly kind: string | null;
  readonly key: string | null;
  readonly fault: string | null;
  readonly id: string | null;
  readonly status: number | null;
  readonly reason: string | null;
}

/** A request while it is being served: the server fills in what it finds out. */
export interface OpenRequest {
  readonly n: number;
  note(facts: { fault?: string; status?: number }): void;
  log(event: LogEvent, facts?: { id?: string; status?: number; reason?: string }): void;
}

export interface ProviderLog {
  receive(request: { method: string; path: string; key: string | null; kind: string | null }): OpenRequest;
  received(): readonly ReceivedRequest[];
  /** Calls back with the entries after `seq`, now if there are any, else when the next one comes; returns a way out. */
  entriesAfter(seq: number, tell: (entries: readonly LogEntry[]) => void): () => void;
  reset(): void;
}

export function openLog(print: (entry: LogEntry) => void): ProviderLog {
  let requests: ReceivedRequest[] = [];
  let entries: LogEntry[] = [];
  let lastSeq = 0;
  const waiting = new Set<() => void>();

  return {
    receive(head) {
      const mine = requests;
      const index = mine.length;
      const n = index + 1;
      let current: ReceivedRequest = { n, ...head, fault: null, status: null };
      mine.push(current);
      return {
        n,
        note(facts) {
          current = { ...current, ...facts };
          mine[index] = current;
        },
        log(event, facts = {}) {
          if (mine !== requests) return;
          lastSeq += 1;
          const { kind, key, fault } = current;
          const entry = { seq: lastSeq, event, n, kind, key, fault, id: null, status: null, reason: null, ...facts };
          entries.push(entry);
          print(entry);
          // A teller may come back for more at once: it waits for the next entry, not for this one again.
          for (const tell of Array.from(waiting)) tell();
        },
      };
    },
    received: () => requests,
    entriesAfter(seq, tell) {
      const tryNow = () => {
        const fresh = entries.slice(Math.max(0, entries.length - (lastSeq - seq)));
        if (fresh.length === 0) return;
        waiting.delete(tryNow);
        tell(fresh);
      };
      waiting.add(tryNow);
      tryNow();
      return () => waiting.delete(tryNow);
    },
    reset() {
      requests = [];
      entries = [];
    },
  };
}

/** The entry as a line for people: `NEW key=order-17 fault=none kind=payment`. */
export function entryText(entry: LogEntry): string {
  const fields: [string, string | number | null][] = [
    ['key', entry.key ?? '-'],
    ['fault', entry.event === 'NEW' ? (entry.fault ?? 'none') : null],
    ['job', entry.id],
    ['status', entry.event === 'LOOKUP' ? (entry.status ?? 'none') : entry.status],
    ['reason', entry.reason],
    ['kind', entry.kind],
  ];
  const shown = fields.flatMap(([name, value]) => (value === null ? [] : [`${name}=${oneWord(String(value))}`]));
  return `${entry.event} ${shown.join(' ')}`;
}

// A key is the client's text: with a line break in it, it could forge a line of this log.
function oneWord(value: string): string {
  return /^[\w.:/@+()%~-]+$/.test(value) ? value : JSON.stringify(value);
}
