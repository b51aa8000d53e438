/**
 * How far a forEach has come, as values: which of its items are under way, and which begin next. It guarantees that no
 * item begins twice, except at a person's word, that no more are under way than its author allows, and that a list of
 * another length than it began with is never taken for the same one. What became of an item is not kept here.
 */

import { LimitReached } from '../src/domain/limits.ts';
import type { ForEach } from '../src/define/saga-flow.ts';
import { itemOf, itemStep } from '../src/define/saga-names.ts';

/** An item that has begun and is in none of the lists has ended. */
export interface Items {
  readonly count: number;
  /** Items from this index on have not begun. */
  readonly next: number;
  readonly underWay: readonly number[];
  /** Refused after the pivot: a person decides about them. */
  readonly refused: readonly number[];
  /** Refused, and to be taken again. */
  readonly again: readonly number[];
}

/** By the name of the forEach, of those that a saga has come to. */
export type AllItems = Readonly<Record<string, Items>>;

/**
 * What is next of a forEach that has come this far; null: it is there for the first time. `list` is asked only when
 * something begins. Throws what a person has to know about a list that is none, too long, or another one than before.
 */
export function nextItems(forEach: ForEach, saga: string, before: Items | null, list: () => unknown) {
  if (before !== null && mayBegin(before, forEach).length === 0) return { items: before, begins: [] };
  const all = checkedList(forEach, saga, before, list());
  const items = before ?? { count: all.length, next: 0, underWay: [], refused: [], again: [] };
  const begin = mayBegin(items, forEach);
  const begun: Items = {
    ...items,
    next: items.next + begin.filter((index) => index >= items.next).length,
    underWay: [...items.underWay, ...begin],
    again: items.again.filter((index) => !begin.includes(index)),
  };
  return { items: begun, begins: begin.map((index) => ({ index, item: all[index] })) };
}

/** Those that were refused first, then in the order of the list. */
function mayBegin({ count, next, underWay, again }: Items, { concurrency }: ForEach): readonly number[] {
  const free = (concurrency ?? count) - underWay.length;
  const unbegun = Array.from({ length: Math.min(Math.max(0, free), count - next) }, (_, at) => next + at);
  return [...again, ...unbegun].slice(0, Math.max(0, free));
}

function checkedList(forEach: ForEach, saga: string, before: Items | null, given: unknown): readonly unknown[] {
  const called = `forEach ${forEach.name} of saga ${saga}`;
  if (!Array.isArray(given)) {
    throw new Error(
      `${called} is given ${given === null ? 'null' : `a value of type ${typeof given}`} for its items. Let items give an array.`,
    );
  }
  // Array.isArray says nothing of what is in it.
  const all = given as readonly unknown[];
  if (before === null && all.length > forEach.atMost) {
    throw new LimitReached(
      `${called} has ${all.length} items and may have ${forEach.atMost}. Nothing of it has begun: raise atMost, or ` +
        'cancel this saga and submit smaller ones.',
    );
  }
  if (before !== null && all.length !== before.count) {
    throw new Error(
      `${called} has ${all.length} items and had ${before.count} when it began. Let items give the same list each ` +
        'time, made from what it is given and from nothing else.',
    );
  }
  return all;
}

/** The index of the item whose end an actor tells; null: it is none of this forEach that is under way. */
export function itemUnderWay(all: AllItems, part: string, event: object): number | null {
  const item = 'actorId' in event && typeof event.actorId === 'string' ? itemOf(event.actorId) : null;
  return item?.part === part && all[part]?.underWay.includes(item.index) === true ? item.index : null;
}

/** The index of the refused item that a person means; null: there is none, or it must be said which. */
export function itemMeant(all: AllItems, part: string, step: string | undefined, amongOthers: boolean): number | null {
  const refused = all[part]?.refused ?? [];
  const isOnlyOne = refused.length === 1 && !amongOthers;
  const isMeant = (index: number) => (step === undefined ? isOnlyOne : step === itemStep(part, index));
  return refused.find(isMeant) ?? null;
}

/** One that was under way has ended for good. */
export function endedItem(items: Items, index: number): Items {
  return { ...items, underWay: without(items.underWay, index) };
}

export function refusedItem(items: Items, index: number): Items {
  return { ...endedItem(items, index), refused: [...items.refused, index] };
}

/** A person has decided about a refused one: it has had its effect, or is to be taken again. */
export function decidedItem(items: Items, index: number, isTakenAgain: boolean): Items {
  const again = isTakenAgain ? [...items.again, index] : items.again;
  return { ...items, refused: without(items.refused, index), again };
}

export function haveEnded(items: Items): boolean {
  return isAtRest(items) && items.refused.length === 0;
}

/** Nothing goes on before a person has decided. */
export function needPerson(items: Items): boolean {
  return isAtRest(items) && items.refused.length > 0;
}

function isAtRest({ count, next, underWay, again }: Items): boolean {
  return next === count && underWay.length === 0 && again.length === 0;
}

function without(indexes: readonly number[], gone: number): readonly number[] {
  return indexes.filter((index) => index !== gone);
}
