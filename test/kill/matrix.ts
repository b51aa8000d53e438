/** Which cases there are: every point that a flow comes by, or pairs of them that chance chooses. */

import type { Chance } from '../torture/chance.ts';
import type { Case, Recovery } from './case.ts';
import { type FlowName, flows } from './flows.ts';
import type { Played } from './life.ts';
import { comesByTime, hasTimerKept, type Point, points } from './points.ts';
import type { Signal } from './strike.ts';

/** How often each flow comes by each point when nobody harms it. */
export type Counts = ReadonlyMap<FlowName, Played['counts']>;

/** The points that a flow comes by, in the order of the list. */
export function reachedBy(counts: Played['counts']): readonly Point[] {
  return points.filter((point) => counts[point] !== undefined);
}

type Fate = readonly [Signal, Recovery];

/** What befalls a process at each point: it is killed, and one of three things follows; or it stands still, or aborts. */
const fates: readonly Fate[] = [
  ['SIGKILL', 'restart'],
  ['SIGKILL', 'take-over'],
  ['SIGKILL', 'second-kill'],
  ['SIGSTOP', 'take-over'],
  ['SIGABRT', 'take-over'],
];

/** The same at what goes over NATS, which takes long: there the timers may be lost as well. */
function fatesOverNats(point: Point): readonly Fate[] {
  const lost: readonly Fate[] = hasTimerKept(point) ? [['SIGKILL', 'timers-lost']] : [];
  return [['SIGKILL', 'restart'], ['SIGKILL', 'take-over'], ...lost, ['SIGSTOP', 'take-over']];
}

export function allCases(counts: Counts): readonly Case[] {
  return [...counts].flatMap(([flow, counted]) => {
    const { overNats } = flows[flow];
    return (overNats ?? reachedBy(counted)).flatMap((point) =>
      (overNats === null ? fates : fatesOverNats(point)).map(
        ([signal, recovery]): Case => ({ flow, strike: { point, nth: 1, signal }, recovery }),
      ),
    );
  });
}

/** So many pairs, in which a process is killed at one point and its successor at another. */
export function randomPairs(counts: Counts, pairs: number, chance: Chance): readonly Case[] {
  const oneOf = <Item>(items: readonly Item[]): Item => {
    const [first, ...others] = items;
    if (first === undefined) throw new Error('There is nothing to choose from.');
    return chance.oneOf([first, ...others]);
  };
  const flows = [...counts];
  return Array.from({ length: pairs }, (): Case => {
    const [flow, counted] = oneOf(flows);
    const reached = reachedBy(counted);
    const [point, second] = [oneOf(reached), oneOf(reached)];
    const nth = comesByTime(point) ? 1 : 1 + chance.below(counted[point] ?? 1);
    return {
      flow,
      strike: { point, nth, signal: 'SIGKILL' },
      recovery: 'second-kill',
      second: { point: second, nth: 1, signal: 'SIGKILL' },
    };
  });
}
