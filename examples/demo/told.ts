/** What a history says in numbers and states. The history is the authority; nothing is counted beside it. */

import type { HistoryRecord, StoryRecord } from 'sagacity';

export interface Told {
  readonly attempts: number;
  readonly lookups: number;
  readonly states: readonly string[];
}

export function toldBy(history: readonly HistoryRecord[]): Told {
  return { ...triesIn(history), states: history.flatMap(({ states }) => states ?? []) };
}

/** Of a saga: the attempts and look-ups of all its operations, and the states that its own chart passed through. */
export function storyToldBy(story: readonly StoryRecord[]): Told {
  const places = story.flatMap(({ operation, states }) => (operation === null ? (states ?? []) : []));
  // Which branch of a parallel is first is chance, so only the state around them is told.
  const names = places.flatMap((place) => (typeof place === 'string' ? place : Object.keys(place)));
  return { ...triesIn(story), states: names.filter((name, at) => name !== names[at - 1]) };
}

function triesIn(records: readonly Pick<HistoryRecord, 'kind'>[]) {
  return {
    attempts: records.filter(({ kind }) => kind === 'start').length,
    lookups: records.filter(({ kind }) => kind === 'lookup').length,
  };
}
