/**
 * What is read off a chart against what instances do: random machines on random walks, by XState's live interpreter.
 * The interpreter is the authority: wherever a walk gets to must have been listed, from the start, from every state
 * it was in before, and from every transition it took. The counts keep the comparison from passing idly.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AnyMachineSnapshot, type AnyStateNode, createActor, createMachine, SimulatedClock } from 'xstate';
import { chartOf, type Reach } from '../../src/kernel/reach.ts';
import { isWhole } from '../../src/kernel/snapshot.ts';
import { machineOf, planOfMachine } from './random-machine.ts';

const seed = Number(process.env['SAGACITY_SEED'] ?? 20_261_129);
const choices = fc.array(fc.nat({ max: 1_000_000 }), { minLength: 5, maxLength: 25 });

describe('a random machine on a random walk', () => {
  test('gets nowhere that its chart does not tell', () => {
    const count = { microsteps: 0, states: 0, transitions: 0, histories: 0 };
    const property = fc.property(planOfMachine, choices, (plan, walk) => {
      const machine = machineOf(plan);
      const chart = chartOf(machine);
      const from = new Map<AnyStateNode, Reach>();
      const after: Reach[] = [];

      for (const { active, taken } of microstepsOf(machine, walk)) {
        count.microsteps += 1;
        for (const { source, index } of taken) {
          const transition = chart.transitionsOf(source)[index];
          if (!transition) throw new Error('a transition that the chart does not have was taken');
          if (transition.target.some(({ type }) => type === 'history')) count.histories += 1;
          after.push(chart.after(source, transition));
        }
        for (const reach of [chart.reached, ...from.values(), ...after]) {
          // Around a final state nothing is left to happen, which is why the states around it need not be listed.
          const unlisted = active.filter((node) => !reach.has(node) && node !== machine.root);
          expect(unlisted.map(({ id }) => id)).toEqual([]);
        }
        for (const node of active) if (!from.has(node)) from.set(node, chart.from(node));
      }
      count.states += from.size;
      count.transitions += after.length;
    });

    fc.assert(property, { seed, numRuns: 200 });

    expect(count.states).toBeGreaterThan(400);
    expect(count.transitions).toBeGreaterThan(400);
    expect(count.histories).toBeGreaterThan(40);
  });
});

describe('a transition within one region', () => {
  test('leaves the others where they are, though nothing in them leads there', () => {
    const machine = createMachine({
      id: 'm',
      initial: 'first',
      states: {
        first: { on: { IN: { target: ['#m.both.left.one', '#m.both.right.aside'] } } },
        both: {
          type: 'parallel',
          states: {
            left: { initial: 'one', on: { GO: '.two' }, states: { one: {}, two: {} } },
            right: { initial: 'one', states: { one: {}, aside: {} } },
          },
        },
      },
    });
    const chart = chartOf(machine);
    const left = chart.nodes.find(({ id }) => id === 'm.both.left') ?? expect.fail('there is no such state');

    const reach = chart.transitionsOf(left).flatMap((go) => [...chart.after(left, go)].map(({ id }) => id));

    expect(reach).toContain('m.both.right.aside');
    expect(reach).not.toContain('m.both.left.one');
    expect(reach).not.toContain('m.first');
  });
});

interface Microstep {
  readonly active: readonly AnyStateNode[];
  readonly taken: readonly { readonly source: AnyStateNode; readonly index: number }[];
}

/** Every microstep of a walk, up to where the machine ends or comes into a state that is none. */
function microstepsOf(machine: ReturnType<typeof machineOf>, walk: readonly number[]): Microstep[] {
  const microsteps: Microstep[] = [];
  let isOver = false;
  const actor = createActor(machine, {
    input: { n: 1 },
    clock: new SimulatedClock(),
    inspect: (event) => {
      if (event.type !== '@xstate.microstep' || event.actorRef !== actor || isOver) return;
      // The inspection event types its snapshot for any logic; the actor inspected here is a machine.
      const snapshot = event.snapshot as AnyMachineSnapshot;
      isOver = snapshot.status === 'error' || !isWhole(snapshot);
      if (isOver) return;
      const taken = event._transitions.map((transition) => {
        // XState's own type of a transition names its source only from the outside.
        const source = transition.source as AnyStateNode;
        const all: unknown[] = [...[...source.transitions.values()].flat(), ...(source.always ?? [])];
        return { source, index: all.indexOf(transition) };
      });
      // Of several, XState reports those that a conflict with another kept from being taken as well.
      microsteps.push({ active: snapshot._nodes, taken: taken.length === 1 ? taken : [] });
    },
  });
  actor.subscribe({ error: () => {} });
  actor.start();
  for (const choice of walk) {
    const snapshot: AnyMachineSnapshot = actor.getSnapshot();
    if (isOver || snapshot.status !== 'active') break;
    const heard = snapshot._nodes.flatMap((node) => [...node.transitions.keys()]);
    // That a state is done is nobody's to say but the interpreter's.
    const events = heard.filter((type) => !type.startsWith('xstate.done.state.')).sort();
    if (events.length > 0) actor.send({ type: events[choice % events.length] ?? '' });
  }
  actor.stop();
  return microsteps;
}
