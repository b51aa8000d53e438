/**
 * What the provider can be told to do with one call or one look-up. Each mode is a row of a table that says what
 * happens to the ledger and what happens to the reply, so that a lie is a fact one can read rather than a branch
 * somewhere. A list with one unknown mode is refused whole: a misspelt fault must never become a test that passes.
 */

/** One row: what a call told this mode does. */
export interface CallBehaviour {
  /** `once` honours the key, `twice` breaks the promise of the key, `none` leaves the ledger alone. */
  readonly effect: 'none' | 'once' | 'twice';
  /** `answer` is the honest one; the others lose, hold back, spoil or replace it. */
  readonly reply: 'answer' | 'drop' | 'hold' | 'garbage' | { readonly status: number; readonly error: object };
  /** `slow` works for the time and then answers; `late` loses the reply at once and lets the request arrive later. */
  readonly pace?: 'slow' | 'late';
  /** What follows the effect: the key is forgotten, look-ups see it late, or the next look-up breaks. */
  readonly sequel?: 'forget' | 'lag' | 'lookup500';
  /** The milliseconds when none are given; absent where the mode takes none. */
  readonly ms?: number | 'optional';
}

/** One row: what a look-up told this mode answers. With milliseconds an `optional` one lasts instead of striking once. */
export interface LookupBehaviour {
  readonly reply: 'answer' | 'nothing' | 'drop' | 'garbage' | 'error';
  readonly slow?: true;
  readonly ms?: number | 'optional';
}

const unavailable = { status: 503, error: { error: 'temporarily_unavailable' } };

// The two 503 rows share one body on purpose: from outside nobody may be able to tell them apart.
const callTable = {
  ok: { effect: 'once', reply: 'answer' },
  'fail-before-commit': { effect: 'none', reply: unavailable },
  'commit-then-error': { effect: 'once', reply: unavailable },
  'commit-then-drop': { effect: 'once', reply: 'drop' },
  'commit-then-hold': { effect: 'once', reply: 'hold' },
  'do+drop': { effect: 'once', reply: 'drop' },
  'do+500': { effect: 'once', reply: { status: 500, error: { error: 'internal_error' } } },
  drop: { effect: 'none', reply: 'drop' },
  decline: { effect: 'none', reply: { status: 402, error: { error: 'declined', code: 'card_declined' } } },
  busy409: { effect: 'none', reply: { status: 409, error: { error: 'idempotency_key_in_flight' } } },
  slow: { effect: 'once', reply: 'answer', pace: 'slow', ms: 1000 },
  late: { effect: 'once', reply: 'drop', pace: 'late', ms: 1000 },
  forget: { effect: 'once', reply: 'answer', sequel: 'forget', ms: 0 },
  lagLookup: { effect: 'once', reply: 'answer', sequel: 'lag', ms: 1000 },
  lookup500: { effect: 'once', reply: 'answer', sequel: 'lookup500', ms: 'optional' },
  lie: { effect: 'twice', reply: 'answer' },
  'lie+drop': { effect: 'twice', reply: 'drop' },
  garbage: { effect: 'once', reply: 'garbage' },
} as const satisfies Record<string, CallBehaviour>;

const lookupTable = {
  ok: { reply: 'answer' },
  lag: { reply: 'nothing', ms: 'optional' },
  lookup500: { reply: 'error', ms: 'optional' },
  slow: { reply: 'answer', slow: true, ms: 1000 },
  drop: { reply: 'drop' },
  garbage: { reply: 'garbage' },
} as const satisfies Record<string, LookupBehaviour>;

export type CallModeName = keyof typeof callTable;
export type LookupModeName = keyof typeof lookupTable;
export const callModes: Readonly<Record<CallModeName, CallBehaviour>> = callTable;
export const lookupModes: Readonly<Record<LookupModeName, LookupBehaviour>> = lookupTable;

/** A mode after reading: `ms` is what was written or the row's default, absent where the mode strikes once. */
export interface Mode<Name extends string> {
  readonly name: Name;
  readonly ms?: number;
}

/** A mode as people write it: `'slow(300)'`, `'do+drop'`, or `{ mode: 'slow', ms: 300 }`. */
export type WrittenMode<Name extends string> =
  | Name
  | `${Name}(${number})`
  | { readonly mode: Name; readonly ms?: number };

export type ReadModes<Name extends string> =
  | { readonly ok: true; readonly modes: readonly Mode<Name>[] }
  | { readonly ok: false; readonly message: string };

/** Reads a whole list against a table; the first fault in it is named, with the nearest mode and the full list. */
export function readModes<Name extends string>(
  table: Readonly<Record<Name, { readonly ms?: number | 'optional' }>>,
  list: unknown,
): ReadModes<Name> {
  if (!Array.isArray(list)) return { ok: false, message: 'Expected a list of modes, such as ["ok", "slow(300)"].' };
  const isName = (name: string): name is Name => Object.hasOwn(table, name);
  const modes: Mode<Name>[] = [];
  for (const item of list) {
    const written = takeApart(item);
    if (written === undefined) {
      return { ok: false, message: `A mode is "name", "name(ms)" or {"mode": "name", "ms": 300}, not ${shown(item)}.` };
    }
    const { name, ms } = written;
    if (!isName(name)) return { ok: false, message: unknownMode(name, Object.keys(table)) };
    const allowed = table[name].ms;
    if (ms !== undefined && allowed === undefined) {
      return { ok: false, message: `Mode "${name}" takes no milliseconds; it was given ${ms}.` };
    }
    if (ms !== undefined && (!Number.isInteger(ms) || ms < 0 || ms > longestTimerMs)) {
      return { ok: false, message: `Mode "${name}" takes whole milliseconds from 0 to ${longestTimerMs}, not ${ms}.` };
    }
    const settled = ms ?? (typeof allowed === 'number' ? allowed : undefined);
    modes.push(settled === undefined ? { name } : { name, ms: settled });
  }
  return { ok: true, modes };
}

/** The mode as it is written in the log: `do+drop`, `slow(300)`. */
export function modeText(mode: Mode<string>): string {
  return mode.ms === undefined ? mode.name : `${mode.name}(${mode.ms})`;
}

// A longer setTimeout fires at once, which would turn "much later" into "now" without a word.
const longestTimerMs = 2_147_483_647;

function takeApart(item: unknown): { name: string; ms: number | undefined } | undefined {
  if (typeof item === 'string') {
    const match = /^(.*)\((-?[\d.]+)\)$/.exec(item);
    return match === null ? { name: item, ms: undefined } : { name: match[1] ?? '', ms: Number(match[2]) };
  }
  if (typeof item !== 'object' || item === null || !('mode' in item) || typeof item.mode !== 'string') return undefined;
  if (!('ms' in item) || item.ms === undefined) return { name: item.mode, ms: undefined };
  return typeof item.ms === 'number' ? { name: item.mode, ms: item.ms } : undefined;
}

function unknownMode(name: string, known: readonly string[]): string {
  const nearest = nearestTo(name, known);
  const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
  return `Unknown mode "${name}".${hint} Modes: ${known.join(', ')}.`;
}

function nearestTo(name: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((candidate) => ({ candidate, edits: editDistance(name.toLowerCase().slice(0, 64), candidate.toLowerCase()) }))
    .sort((left, right) => left.edits - right.edits);
  return best !== undefined && best.edits <= Math.max(2, best.candidate.length / 3) ? best.candidate : undefined;
}

function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of from.split('').entries()) {
    const next = [index + 1];
    for (const [column, other] of to.split('').entries()) {
      const replace = (row[column] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replace, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 80);
}
