/** An operation that stands alone, as an aggregate: its row is its own fence, and its only member is itself. */

import { definitionMissing } from '../domain/errors.ts';
import type { Operation } from '../define/operation.ts';
import type { Kernel } from '../kernel/kernel.ts';
import type { Birth, OperationRef, OperationRow, Receipt, Store, Turn } from '../ports/store.ts';
import { type Advance, advance, birth, type OperationHappening } from './advance.ts';
import type {
  Aggregate,
  AnyReceipt,
  AnyRow,
  Happening,
  Made,
  Member,
  Moment,
  Newborn,
  WrittenAs,
} from './aggregate.ts';
import { contextOf, fromStored, stateOf, toStored, waitOf } from './row.ts';
import { startIn } from './start.ts';

export class OperationAlone implements Aggregate {
  readonly kind = 'operation';
  readonly startsAtMost = 0;
  readonly timers = [];
  readonly members: ReadonlyMap<string, Member>;
  readonly #member: Member;
  readonly #kernel: Kernel;

  constructor(member: Member, kernel: Kernel) {
    this.#member = member;
    this.#kernel = kernel;
    this.members = new Map([[member.ref.id, member]]);
  }

  get ref(): OperationRef {
    return this.#member.ref;
  }

  advance(happening: Happening, moment: Moment): Made | null {
    const what = asOperation(happening);
    if (what === null) return null;
    const { row, revision } = this.#member;
    const made = advance(this.#kernel, row, revision, what, moment.factsOf(this.#member));
    return made === null ? null : this.#made(made, moment);
  }

  read(store: Pick<Store, 'read'>): Promise<OperationRow | null> {
    return store.read(this.ref);
  }

  readAgain(row: AnyRow): OperationAlone {
    // What has the id of an operation is one.
    const { dueAt, sendBy, windowEndsAt, revision } = row as OperationRow;
    return new OperationAlone({ ...this.#member, dueAt, sendBy, windowEndsAt, revision }, this.#kernel);
  }

  #made(made: Advance, { now }: Moment): Made {
    const member = this.#member;
    const { ref } = member;
    const waitMs = waitFrom(member, made, now);
    const isUnderWay = stateOf(made.row) === 'in-progress';
    return {
      waitMs,
      isUnderWay,
      starts: isUnderWay && stateOf(member.row) !== 'in-progress' ? [ref.id] : [],
      answers: made.answers,
      afterwards: () => {},
      changes: [ref],
      turn: (as) => ({ ...turnOf(ref, member, made, as), birth: null, was: as.was, dueInMs: waitMs }),
      after: (receipt) => new OperationAlone(writtenMember(member, made, receipt), this.#kernel),
    };
  }
}

/** An operation that is to be created alone. */
export function newOperation(definition: Operation, ref: OperationRef, identified: Birth, kernel: Kernel): Newborn {
  return {
    kind: 'operation',
    ref,
    startsAtMost: 1,
    born({ slots, factsOf }) {
      const times = { createdAt: 0, sendBy: null, windowEndsAt: null };
      const made = birth(kernel, definition.policy, factsOf(times), slots > 0);
      const isUnderWay = slots > 0;
      const waitMs = isUnderWay ? null : 0;
      return {
        ...{ waitMs, isUnderWay, starts: isUnderWay ? [ref.id] : [], changes: [ref], afterwards: () => {} },
        turn: (as) => ({ ...turnOf(ref, null, made, as), birth: identified, was: null, dueInMs: waitMs }),
        after(receipt) {
          const { providerKey: idempotencyKey, input } = identified;
          const member = { ref, definition, idempotencyKey, input, createdAt: receipt.now, ...noTimes };
          return new OperationAlone(writtenMember(member, made, receipt), kernel);
        },
      };
    },
  };
}

const noTimes = { revision: 0, sendBy: null, windowEndsAt: null, dueAt: null } as const;

/** How long until the next thing is due; what was waited for already goes on from where it stands. */
export function waitFrom(member: Member, made: Advance, now: number): number | null {
  const wait = waitOf(made.row);
  if (wait === null) return null;
  const { dueAt } = member;
  const waitedAlready = waitOf(member.row)?.id === wait.id && dueAt !== null;
  return waitedAlready ? Math.max(0, dueAt - now) : wait.delayMs;
}

/** What every turn of an operation says, whether it stands alone or is born so. */
export function turnOf(
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
  if (definition === undefined) throw definitionMissing(row.action, false);
  const { tenant, id, providerKey: idempotencyKey, input, createdAt, revision, sendBy, windowEndsAt } = row;
  return {
    ref: { tenant, id },
    ...{ definition, idempotencyKey, input, createdAt, revision, sendBy, windowEndsAt, dueAt },
    row: fromStored(row),
  };
}

function writtenMember(member: Omit<Member, 'row'>, { row }: Advance, receipt: AnyReceipt): Member {
  // A turn of an operation alone is answered by a receipt of one.
  const { revision, dueAt, sendBy, windowEndsAt } = receipt as Receipt;
  return { ...member, row, revision, dueAt, sendBy, windowEndsAt };
}

function asOperation(happening: Happening): OperationHappening | null {
  switch (happening.type) {
    case 'operation':
      return happening.what;
    case 'timer':
      return null;
    default:
      return happening;
  }
}
