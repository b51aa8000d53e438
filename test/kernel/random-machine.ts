/**
 * Random machines: a plan that fast-check can shrink, and the machine it describes. Every plan is a valid machine;
 * targets are chosen by number among all its states, so that shrinking the tree never leaves a target dangling.
 */
import fc from 'fast-check';
import { type AnyStateMachine, assign, cancel, createMachine, emit, raise } from 'xstate';
import { inertLogic } from '../../src/kernel/scope.ts';

const events = ['E0', 'E1', 'E2', 'E3', 'R0', 'R1', 'D0', 'D1'];
const guards = [undefined, undefined, undefined, 'even', 'third', { type: 'below', params: { limit: 6 } }];

const choice = fc.nat({ max: 1_000_000 });
/** Null, or with this chance out of a hundred a value. */
const maybe = <Value>(arbitrary: fc.Arbitrary<Value>, chance: number) =>
  fc.oneof({ weight: 100 - chance, arbitrary: fc.constant(null) }, { weight: chance, arbitrary });
const actionChoices = fc.array(fc.nat({ max: 9 }), { maxLength: 2 });

const transitionPlan = fc.record({
  target: maybe(choice, 85),
  guard: fc.nat({ max: guards.length - 1 }),
  actions: actionChoices,
  reenter: fc.boolean(),
});
type TransitionPlan = typeof transitionPlan extends fc.Arbitrary<infer Plan> ? Plan : never;

const behaviour = {
  on: fc.array(fc.record({ event: fc.nat({ max: events.length - 1 }), transition: transitionPlan }), { maxLength: 4 }),
  always: maybe(transitionPlan, 10),
  after: maybe(fc.record({ delay: fc.constantFrom('100', '200', 'growing'), transition: transitionPlan }), 40),
  invoke: maybe(fc.record({ onDone: transitionPlan, onError: maybe(transitionPlan, 80) }), 40),
  onDone: maybe(transitionPlan, 50),
  entry: actionChoices,
  exit: actionChoices,
};

interface NodePlan {
  readonly type: 'atomic' | 'final' | 'compound' | 'parallel';
  readonly history: 'none' | 'shallow' | 'deep';
  readonly children: readonly NodePlan[];
  readonly on: readonly { event: number; transition: TransitionPlan }[];
  readonly always: TransitionPlan | null;
  readonly after: { delay: string; transition: TransitionPlan } | null;
  readonly invoke: { onDone: TransitionPlan; onError: TransitionPlan | null } | null;
  readonly onDone: TransitionPlan | null;
  readonly entry: readonly number[];
  readonly exit: readonly number[];
}

const history = fc.constantFrom('none' as const, 'shallow' as const, 'deep' as const);
const leaf: fc.Arbitrary<NodePlan> = fc.record({
  type: fc.constantFrom('atomic', 'atomic', 'final'),
  history,
  children: fc.constant([]),
  ...behaviour,
});
const branch = (child: fc.Arbitrary<NodePlan>): fc.Arbitrary<NodePlan> =>
  fc.record({
    type: fc.constantFrom('compound', 'compound', 'parallel'),
    history,
    children: fc.array(child, { minLength: 2, maxLength: 3 }),
    ...behaviour,
  });
const inner = branch(leaf);

export const planOfMachine: fc.Arbitrary<NodePlan> = branch(
  fc.oneof(
    { weight: 3, arbitrary: leaf },
    { weight: 2, arbitrary: inner },
    { weight: 1, arbitrary: branch(fc.oneof(leaf, inner)) },
  ),
);

export function machineOf(plan: NodePlan): AnyStateMachine {
  const targets = targetsIn(plan, '#m');
  const config = {
    ...configOf(plan, '#m', targets),
    id: 'm',
    context: ({ input }: { input: { n: number } }) => ({ n: input.n, last: null }),
    output: ({ context }: { context: Context }) => ({ n: context.n }),
    options: { maxIterations: 30 },
  };
  // A machine made of data has no static type to check it against.
  return createMachine(
    config as never,
    {
      actors: { work: inertLogic },
      actions: {
        bump: assign({ n: ({ context, event }: Scope) => context.n + 1 + (event.add ?? 0) }),
        keep: assign({ last: ({ event }: Scope) => event.output ?? null }),
      },
      guards: {
        even: ({ context }: Scope) => context.n % 2 === 0,
        third: ({ context }: Scope) => context.n % 3 === 0,
        below: ({ context }: Scope, { limit }: { limit: number }) => context.n < limit,
      },
      delays: { growing: ({ context }: Scope) => 300 + (context.n % 3) },
    } as never,
  );
}

interface Context {
  readonly n: number;
  readonly last: unknown;
}

interface Scope {
  readonly context: Context;
  readonly event: { readonly type: string; readonly add?: number; readonly output?: unknown };
}

/** History states are listed more than once, to be chosen more often. */
function targetsIn(plan: NodePlan, path: string): string[] {
  const recalled = `${path}.h`;
  return [
    ...(hasHistory(plan) ? [recalled, recalled, recalled] : []),
    ...plan.children.flatMap((child, at) => [`${path}.s${at}`, ...targetsIn(child, `${path}.s${at}`)]),
  ];
}

function hasHistory(plan: NodePlan): boolean {
  return plan.children.length > 0 && plan.history !== 'none';
}

function configOf(plan: NodePlan, path: string, targets: readonly string[], within?: NodePlan, at = 0): object {
  // A machine that begins in a final state, or a region that is one, leaves nothing to compare.
  if (plan.type === 'final' && within?.type === 'compound' && at > 0)
    return { type: 'final', entry: plan.entry.flatMap(actionOf) };
  const transition = ({ target, guard, actions, reenter }: TransitionPlan, mayRaise = true, extra: string[] = []) => ({
    ...(target === null ? {} : { target: targets[target % targets.length] }),
    ...(guards[guard] === undefined ? {} : { guard: guards[guard] }),
    actions: [...extra, ...actions.filter((number) => mayRaise || number !== raising).flatMap(actionOf)],
    reenter,
  });

  const on: Record<string, object[]> = {};
  for (const { event, transition: written } of plan.on) {
    const name = events[event] ?? 'E0';
    on[name] = [...(on[name] ?? []), transition(written, !name.startsWith('R'))];
  }
  return {
    on,
    entry: plan.entry.flatMap(actionOf),
    exit: plan.exit.flatMap(actionOf),
    ...(plan.always ? { always: { guard: 'third', ...transition(plan.always, false, ['bump']) } } : {}),
    ...(plan.after ? { after: { [plan.after.delay]: transition(plan.after.transition) } } : {}),
    ...(plan.invoke
      ? {
          invoke: {
            src: 'work',
            id: `work at ${path}`,
            input: ({ context }: { context: Context }) => ({ n: context.n }),
            onDone: transition(plan.invoke.onDone, true, ['keep']),
            ...(plan.invoke.onError ? { onError: transition(plan.invoke.onError) } : {}),
          },
        }
      : {}),
    ...(plan.children.length === 0
      ? {}
      : {
          ...(plan.type === 'parallel' ? { type: 'parallel' } : { initial: 's0' }),
          ...(plan.onDone && path !== '#m' ? { onDone: transition(plan.onDone) } : {}),
          states: {
            ...Object.fromEntries(
              plan.children.map((child, index) => [
                `s${index}`,
                configOf(child, `${path}.s${index}`, targets, plan, index),
              ]),
            ),
            ...(hasHistory(plan) ? { h: { type: 'history', history: plan.history } } : {}),
          },
        }),
  };
}

const raising = 1;

function actionOf(number: number): unknown[] {
  switch (number) {
    case 0:
      return ['bump'];
    case raising:
      return [raise({ type: 'R0' })];
    case 2:
      return [emit(({ context }) => ({ type: 'told', n: context.n }))];
    case 3:
      return [{ type: 'note', params: ({ context }: { context: Context }) => ({ n: context.n }) }];
    case 4:
      return [raise({ type: 'D0' }, { delay: 50 })];
    case 5:
      return [cancel('named'), raise({ type: 'D1' }, { id: 'named', delay: 70 })];
    case 6:
      return [cancel('named')];
    default:
      return [];
  }
}
