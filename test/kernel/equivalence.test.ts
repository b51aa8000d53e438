/**
 * The kernel against XState's own live interpreter: random machines, each driven by a random walk of events, ends of
 * actors and firings of timers, compared after every step, with the kernel's row frozen and carried through JSON in
 * between. The live interpreter is the authority. The counts at the end keep the comparison from passing idly.
 */
import { appendFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KernelFault } from '../../src/kernel/fault.ts';
import { kernelOf } from '../../src/kernel/kernel.ts';
import type { KernelRow } from '../../src/kernel/row.ts';
import type { Turn } from '../../src/kernel/kernel.ts';
import { liveOf } from './live-interpreter.ts';
import { machineOf, planOfMachine } from './random-machine.ts';

const seed = Number(process.env['SAGACITY_SEED'] ?? 20260914);
const runs = 2000;

const choice = fc.nat({ max: 1_000_000 });
const walk = fc.array(
  fc.record({
    kind: fc.oneof(
      { weight: 5, arbitrary: fc.constant('event' as const) },
      { weight: 4, arbitrary: fc.constant('settle' as const) },
      { weight: 1, arbitrary: fc.constant('reject' as const) },
      { weight: 4, arbitrary: fc.constant('fire' as const) },
      { weight: 1, arbitrary: fc.constant('late' as const) },
    ),
    choice,
  }),
  { minLength: 4, maxLength: 12 },
);
type Walk = typeof walk extends fc.Arbitrary<infer Steps> ? Steps : never;

describe('a random machine on a random walk', () => {
  test('goes the same way in the kernel as in the live interpreter', async () => {
    const total = { steps: 0, settles: 0, firings: 0, late: 0, restorations: 0, faults: 0, finished: 0, stops: 0 };
    const mismatches: string[] = [];
    const property = (count: typeof total, report: (difference: string) => void) =>
      fc.asyncProperty(planOfMachine, walk, async (plan, steps) => {
        const difference = await compare(machineOf(plan), steps, count);
        if (difference !== null) report(difference);
      });

    await fc.assert(
      property(total, (difference) => mismatches.push(difference)),
      { seed, numRuns: runs },
    );
    report(mismatches.length);
    console.info(`kernel equivalence: seed ${seed}, ${runs} runs, ${JSON.stringify(total)}`);

    if (mismatches.length > 0) {
      const uncounted = { ...total };
      const fail = (difference: string) => expect.fail(difference);
      await fc.assert(property(uncounted, fail), { seed, numRuns: runs });
    }
    expect(mismatches).toEqual([]);
    expect(total.steps).toBeGreaterThan(5000);
    expect(total.settles).toBeGreaterThanOrEqual(100);
    expect(total.firings).toBeGreaterThanOrEqual(100);
    expect(total.restorations).toBeGreaterThanOrEqual(100);
    expect(total.late).toBeGreaterThanOrEqual(100);
    expect(total.stops).toBeGreaterThanOrEqual(100);
    expect(total.finished).toBeGreaterThanOrEqual(50);
    expect(total.faults).toBeLessThan(runs / 2);
  });
});

function report(count: number): void {
  const file = process.env['SAGACITY_FIGURES'];
  if (!file) return;
  const figure = { name: 'kernel equivalence mismatches', value: count, limit: 0, ok: count === 0 };
  appendFileSync(file, `${JSON.stringify(figure)}\n`);
}

/** Walks both; returns the first difference in words, or null when there was none. */
async function compare(
  machine: ReturnType<typeof machineOf>,
  steps: Walk,
  count: Record<'steps' | 'settles' | 'firings' | 'late' | 'restorations' | 'faults' | 'finished' | 'stops', number>,
): Promise<string | null> {
  const kernel = kernelOf(machine);
  const live = liveOf(machine);
  try {
    // The live interpreter does not tell which values it passed through before it was started.
    let turn = attempt(() => ({ ...kernel.start({ n: 1 }), visited: [] }));
    live.start({ n: 1 });
    const history: string[] = ['start'];

    for (let at = 0; ; at += 1) {
      await live.atRest();
      if (turn === 'fault' || live.failed()) {
        count.faults += 1;
        return turn === 'fault' && live.failed() ? null : `only one of them failed after ${history.join(', ')}`;
      }
      const kept = fromStore(turn.row);
      const [ours, theirs] = [seenOf(turn, kept), live.seen()];
      if (!isDeepStrictEqual(ours, theirs)) {
        return `after ${history.join(', ')}:\nkernel ${JSON.stringify(ours)}\nlive   ${JSON.stringify(theirs)}`;
      }
      count.stops += turn.effects.filter((effect) => effect.type === 'actor.stopped').length;
      if (kept.status === 'done') {
        count.finished += 1;
        return null;
      }
      const step = steps[at];
      if (!step) return null;

      const actors = Object.keys(kept.children).sort();
      const timers = Object.keys(kept.timers).sort();
      const actorId = actors[step.choice % Math.max(1, actors.length)];
      const timerId = timers[step.choice % Math.max(1, timers.length)];
      count.steps += 1;

      if (step.kind === 'late') {
        const unknown = kernel.settle(kept, 'nobody', 1, { output: 1 });
        const stale = Object.entries(kept.generations).map(([key, generation]) => {
          const [kind, id] = [key.slice(0, key.indexOf(':')), key.slice(key.indexOf(':') + 1)];
          return kind === 'actor'
            ? kernel.settle(kept, id, generation - (id in kept.children ? 1 : 0), { output: 1 })
            : kernel.fire(kept, id, generation - (id in kept.timers ? 1 : 0));
        });
        if ([unknown, ...stale].some((answer) => answer !== null)) return 'something late was taken';
        count.late += 1;
        turn = { row: kept, effects: [], visited: [] };
        live.forget();
      } else if ((step.kind === 'settle' || step.kind === 'reject') && actorId !== undefined) {
        const generation = kept.children[actorId]?.generation ?? 0;
        const result = step.kind === 'settle' ? { output: step.choice } : { error: step.choice };
        turn = attempt(
          () => kernel.settle(kept, actorId, generation, result) ?? expect.fail('a running actor was late'),
        );
        live.settle(actorId, result);
        count.settles += 1;
        history.push(`${step.kind} ${actorId}`);
      } else if (step.kind === 'fire' && timerId !== undefined) {
        const timer = kept.timers[timerId];
        turn = attempt(
          () => kernel.fire(kept, timerId, timer?.generation ?? 0) ?? expect.fail('an armed timer was late'),
        );
        live.fire(timer?.event.type ?? '', timer?.delayMs ?? 0);
        count.firings += 1;
        history.push(`fire ${timerId}`);
      } else {
        const event = { type: `E${step.choice % 4}`, add: step.choice % 3 };
        if (kernel.accepts(kept, event) !== live.accepts(event)) return `only one accepts ${event.type}`;
        turn = attempt(() => kernel.step(kept, event));
        live.send(event);
        history.push(event.type);
      }
    }
  } finally {
    count.restorations += live.restorations();
    live.stop();
  }
}

function attempt(take: () => Turn): Turn | 'fault' {
  try {
    return take();
  } catch (error) {
    if (error instanceof KernelFault) return 'fault';
    throw error;
  }
}

function fromStore(row: KernelRow): KernelRow {
  const kept: KernelRow = JSON.parse(JSON.stringify(row));
  if (!isDeepStrictEqual(kept, row)) expect(kept).toEqual(row);
  return deepFreeze(kept);
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

/** What can be told of both: anything the outside world sees of the instance. */
function seenOf(turn: Turn, row: KernelRow) {
  const done = (type: string) => turn.effects.filter((effect) => effect.type === type);
  return {
    value: row.value,
    status: row.status,
    output: row.output,
    context: row.context,
    running: Object.keys(row.children).sort(),
    timers: Object.values(row.timers)
      .map(({ event, delayMs }) => `${event.type} in ${delayMs}`)
      .sort(),
    started: done('actor.started')
      .map((effect) => (effect.type === 'actor.started' ? [effect.id, effect.input] : []))
      .sort(),
    emitted: done('event.emitted').flatMap((effect) => (effect.type === 'event.emitted' ? [effect.event] : [])),
    noted: done('action').flatMap((effect) => (effect.type === 'action' ? [effect.params] : [])),
    visited: turn.visited,
  };
}
