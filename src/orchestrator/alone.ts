/**
 * An operation that stands alone, as an aggregate: its row is its own fence, and its only member is itself. What takes it
 * back is another one, so that each looks at the other: it is over when its inverse is, and the inverse is sent only if,
 * once it is recorded, the operation is still being taken back. A birth that comes late, when a person has decided
 * otherwise, then has no effect.
 */

import { decode } from '../domain/codec.ts';
import { faultOf } from '../domain/error-record.ts';
import { definitionMissing } from '../domain/errors.ts';
import { operationId, scopeOf, undoKey, undoneBy } from '../domain/idempotency.ts';
import { FORMAT_WRITTEN, isReadable } from '../domain/format.ts';
import { isSettled } from '../domain/operation-state.ts';
import type { Operation } from '../define/operation.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { KernelRow } from '../kernel/row.ts';
import type { Birth, OperationRef, OperationRow, Receipt, Store, Turn } from '../ports/store.ts';
import { type Advance, advance, birth, endOfInverse, type OperationHappening } from './advance.ts';
import type {
  Aggregate,
  AnyReceipt,
  AnyRow,
  Happening,
  Made,
  Member,
  Moment,
  Newborn,
  Others,
  Timer,
  WrittenAs,
} from './aggregate.ts';
import { acceptedNow, birthOf } from './accept.ts';
import { seenOf } from './handover.ts';
import { contextOf, fromStored, outputOf, stateOf, waitOf } from './row.ts';
import { startIn } from './start.ts';
import { toStored } from './stored.ts';

export class OperationAlone implements Aggregate {
  readonly kind = 'operation';
  readonly startsAtMost = 0;
  readonly members: ReadonlyMap<string, Member>;
  readonly #member: Member;
  readonly #kernel: Kernel;
  /** Of an inverse: what it takes back was seen to be waiting for it. */
  readonly #isWanted: boolean;

  constructor(member: Member, kernel: Kernel, isWanted = false) {
    this.#member = member;
    this.#kernel = kernel;
    this.#isWanted = isWanted;
    this.members = new Map([[member.ref.id, member]]);
  }

  get ref(): OperationRef {
    return this.#member.ref;
  }

  /** While it is being taken back, its inverse is looked at; and before an inverse is sent, what it takes back. */
  get timers(): readonly Timer[] {
    const other = this.#looksAt();
    return other === null ? [] : [{ name: other.id, generation: 0, dueAt: this.#member.dueAt ?? 0, looks: true }];
  }

  #looksAt(): OperationRef | null {
    const { ref, row, undoes } = this.#member;
    if (stateOf(row) === 'compensating') return inverseOf(this.#member).ref;
    const isUnsent = stateOf(row) === 'pending' && contextOf(row).history.attempts.length === 0;
    return undoes !== null && isUnsent && !this.#isWanted ? { tenant: ref.tenant, id: undoes } : null;
  }

  advance(happening: Happening, moment: Moment): Made | null {
    if (happening.type === 'seen') return this.#see(happening.others, moment);
    const what = asOperation(happening);
    return what === null ? null : this.#advance(what, moment);
  }

  async look(store: Pick<Store, 'read'>): Promise<Others> {
    const other = this.#looksAt();
    const operations = other === null ? [] : [[other.id, await store.read(other)] as const];
    return { operations: new Map(operations), sagas: new Map() };
  }

  read(store: Pick<Store, 'read'>): Promise<OperationRow | null> {
    return store.read(this.ref);
  }

  readAgain(row: AnyRow): OperationAlone {
    // What has the id of an operation is one.
    const { dueAt, sendBy, windowEndsAt, revision, turn } = row as OperationRow;
    const seen = seenOf({ revision, turn });
    return new OperationAlone({ ...this.#member, dueAt, sendBy, windowEndsAt, seen }, this.#kernel, this.#isWanted);
  }

  #see({ operations }: Others, moment: Moment): Made | null {
    const other = this.#looksAt();
    if (other === null || !operations.has(other.id)) return null;
    const row = operations.get(other.id) ?? null;
    return this.#member.undoes === other.id ? this.#seeOriginal(row, moment) : this.#seeInverse(row, moment);
  }

  /** It is sent only to who waits for it. */
  #seeOriginal(original: OperationRow | null, moment: Moment): Made | null {
    if (original?.state === 'compensating') {
      return new OperationAlone(this.#member, this.#kernel, true).#advance({ type: 'released' }, moment);
    }
    const why = { undoes: this.#member.undoes, state: original?.state ?? null };
    return this.#advance({ type: 'told', event: { type: 'cancel.requested' }, why }, moment);
  }

  /** How its inverse stands is told to it; one that is missing is begun. */
  #seeInverse(row: OperationRow | null, moment: Moment): Made | null {
    if (row === null) return this.#beginInverse(inverseOf(this.#member), moment);
    // How one ended that another version has written is seen by who reads it.
    const isOver = (row.state === 'succeeded' || row.state === 'failed') && isReadable(row);
    const what: OperationHappening = isOver
      ? { type: 'told', event: endOfInverse(fromStored(row)), why: { inverse: row.id } }
      : { type: 'released' };
    return this.#advance(what, moment, moment.now - row.createdAt);
  }

  /** After this turn, and once by its identity. What the definition makes impossible is for a person to decide. */
  #beginInverse({ ref, definition, birth }: Inverse, moment: Moment): Made | null {
    let identified: Birth;
    try {
      identified = birth();
    } catch (error) {
      const why = { action: definition.action, inverse: ref.id, fault: faultOf(error) };
      return this.#advance({ type: 'told', event: { type: 'compensation.faulted' }, why }, moment);
    }
    const made = this.#advance({ type: 'released' }, moment);
    return made === null ? null : { ...made, begins: [newOperation(definition, ref, identified, this.#kernel)] };
  }

  /** `inverseAgeMs`: how old its inverse is, as far as it has been looked at. */
  #advance(what: OperationHappening, moment: Moment, inverseAgeMs = 0): Made | null {
    const { row, seen } = this.#member;
    const made = advance(this.#kernel, row, seen, what, moment.factsOf(this.#member));
    return made === null ? null : this.#made(made, moment, inverseAgeMs);
  }

  #made(made: Advance, { now }: Moment, inverseAgeMs: number): Made {
    const member = this.#member;
    const { ref } = member;
    const waitMs = waitFrom(member, made, now, inverseAgeMs);
    const isUnderWay = stateOf(made.row) === 'in-progress';
    return {
      waitMs,
      isUnderWay,
      // Of its few turns each may be the one that is waited for.
      rests: true,
      lets: [],
      starts: isUnderWay && stateOf(member.row) !== 'in-progress' ? [ref.id] : [],
      answers: made.answers,
      afterwards: () => {},
      asks: [],
      begins: [],
      wakes: joinersToWake(member.row, made.row, ref.tenant),
      changes: [ref],
      turn: (as) => ({ ...turnOf(ref, member, made, as), birth: null, was: as.was, dueInMs: waitMs }),
      after: (receipt, turn) =>
        new OperationAlone(writtenMember(member, made, receipt, turn), this.#kernel, this.#isWanted),
    };
  }
}

/** An inverse is looked at again after this pause, which grows with its age: it may be a person who is asked about it. */
const INVERSE_PAUSE_MS = 1_000;
const INVERSE_PAUSE_MAX_MS = 60_000;

/** What takes back an operation that stands alone: an operation like any other, of which there is one. */
interface Inverse {
  readonly ref: OperationRef;
  readonly definition: Operation;
  /** What is recorded of it. Throws what makes that impossible: the author's code, or a value that cannot be kept. */
  readonly birth: () => Birth;
}

export function inverseOf({ ref, definition, input, row }: Member): Inverse {
  const { compensate } = definition;
  if (compensate === null || !('operation' in compensate)) {
    throw new Error(`${definition.action} has no inverse, and ${ref.id} is being taken back.`);
  }
  const inverse = compensate.operation;
  const scope = scopeOf(ref.tenant, inverse.action, undoKey(ref.id));
  return {
    ref: { tenant: ref.tenant, id: operationId(scope) },
    definition: { ...inverse, policy: { ...inverse.policy, inverse: true } },
    birth: () => {
      const given = compensate.input({ input: decode(input), output: outputOf({ row }) });
      return birthOf(scope, inverse, acceptedNow(inverse.action, inverse.options.input, given));
    },
  };
}

/** An operation that is to be created alone. */
export function newOperation(definition: Operation, ref: OperationRef, identified: Birth, kernel: Kernel): Newborn {
  return {
    kind: 'operation',
    ref,
    // An inverse looks first at what it takes back.
    startsAtMost: definition.policy.inverse ? 0 : 1,
    born({ hand, factsOf }) {
      const times = { createdAt: 0, sendBy: null, windowEndsAt: null };
      const isUnderWay = hand.take(ref.id, definition.action);
      const made = birth(kernel, definition.policy, factsOf(times), isUnderWay);
      const waitMs = isUnderWay ? null : 0;
      return {
        ...{ waitMs, isUnderWay, rests: true, changes: [ref], afterwards: () => {} },
        starts: isUnderWay ? [ref.id] : [],
        turn: (as) => ({ ...turnOf(ref, null, made, as), birth: identified, was: null, dueInMs: waitMs }),
        after(receipt, turn) {
          const { providerKey: idempotencyKey, input } = identified;
          const undoes = undoneAlone(made.row, identified.key);
          const member = { ref, definition, idempotencyKey, undoes, input, createdAt: receipt.now, ...unwritten };
          return new OperationAlone(writtenMember(member, made, receipt, turn), kernel);
        },
      };
    },
    hindrance: async () => null,
  };
}

const unwritten = { seen: '', sendBy: null, windowEndsAt: null, dueAt: null, format: FORMAT_WRITTEN } as const;

/** How long until the next thing is due; what was waited for already goes on from where it stands. */
function waitFrom(member: Member, made: Advance, now: number, inverseAgeMs: number): number | null {
  if (stateOf(made.row) === 'compensating') {
    const isNew = stateOf(member.row) !== 'compensating';
    return isNew ? 0 : Math.min(Math.max(INVERSE_PAUSE_MS, inverseAgeMs), INVERSE_PAUSE_MAX_MS);
  }
  const wait = waitOf(made.row);
  if (wait === null) return null;
  const { dueAt } = member;
  const waitedAlready = waitOf(member.row)?.id === wait.id && dueAt !== null;
  return waitedAlready ? Math.max(0, dueAt - now) : wait.delayMs;
}

/** What every turn of an operation says, whether it stands alone or is born so. */
function turnOf(
  { tenant, id }: OperationRef,
  before: Member | null,
  made: Advance,
  as: Pick<WrittenAs, 'turn' | 'owner' | 'generation' | 'timeline' | 'lostForMs'>,
): Omit<Turn, 'birth' | 'was' | 'dueInMs'> {
  return {
    ...{ tenant, id, turn: as.turn, owner: as.owner, generation: as.generation },
    state: stateOf(made.row),
    reason: contextOf(made.row).reason,
    contradicted: made.contradicted,
    ...toStored(made.row),
    start: startIn(before?.row ?? null, made.row, as),
    records: made.records,
    takes: made.takes,
  };
}

/** The member of a stored row. Throws what the row cannot be read for. */
export function memberOf(row: OperationRow, definitions: ReadonlyMap<string, Operation>, dueAt = row.dueAt): Member {
  const definition = definitions.get(row.action);
  if (definition === undefined) throw definitionMissing(row.action);
  const { tenant, id, saga, key, providerKey: idempotencyKey, input, createdAt, sendBy, windowEndsAt } = row;
  const undoes = saga === null ? undoneAlone(fromStored(row), key) : null;
  return {
    ref: { tenant, id },
    undoes,
    ...{ definition, idempotencyKey, input, createdAt, sendBy, windowEndsAt, dueAt, seen: seenOf(row) },
    ...{ format: row.format, row: fromStored(row) },
  };
}

function undoneAlone(row: KernelRow, key: string): string | null {
  return contextOf(row).policy.inverse ? undoneBy(key) : null;
}

function writtenMember(member: Omit<Member, 'row'>, { row }: Advance, receipt: AnyReceipt, turn: string): Member {
  // A turn of an operation alone is answered by a receipt of one.
  const { revision, dueAt, sendBy, windowEndsAt } = receipt as Receipt;
  return { ...member, row, seen: seenOf({ revision, turn }), dueAt, sendBy, windowEndsAt, format: FORMAT_WRITTEN };
}

/** The sagas that have joined an operation: all of them when it has just settled, and who joins one that has settled. */
export function joinersToWake(before: KernelRow, after: KernelRow, tenant: string): readonly OperationRef[] {
  if (!isSettled(stateOf(after))) return [];
  const told = isSettled(stateOf(before)) ? contextOf(before).joined : [];
  return contextOf(after)
    .joined.filter((id) => !told.includes(id))
    .map((id) => ({ tenant, id }));
}

function asOperation(happening: Happening): OperationHappening | null {
  switch (happening.type) {
    case 'operation':
      return happening.what;
    case 'timer':
    case 'seen':
      return null;
    default:
      return happening;
  }
}
