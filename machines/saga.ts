/** stub */
import { type AnyStateMachine, assign, fromPromise, setup } from 'xstate';
import type { Part, Saga } from '../src/define/saga-flow.ts';
export function sagaMachine(saga: Saga): AnyStateMachine {
  if (saga.flow.type === 'machine') return saga.flow.machine as AnyStateMachine;
  const actors: Record<string, any> = { compensate: fromPromise(async () => ({})) };
  const states: Record<string, any> = {};
  const { parts, output } = saga.flow;
  let past = false;
  const stepState = (part: Extract<Part, { type: 'step' }>, next: any) => {
    actors[part.operation.action] = fromPromise(async () => ({}));
    return {
      invoke: {
        id: part.name, src: part.operation.action,
        input: ({ context }: any) => part.input({ input: context.input, ...context.outputs }),
        onDone: { target: next, actions: assign({ outputs: ({ context, event }: any) => ({ ...context.outputs, [part.name]: event.output }) }) },
        onError: part.onFailed === 'continue' ? next : '#root.compensating',
      },
    };
  };
  parts.forEach((part, i) => {
    const next = parts[i + 1]?.name ?? 'succeeded';
    const on = past ? {} : { on: { 'saga.cancelled': 'compensating', 'saga.timedOut': 'compensating' } };
    if (part.type === 'step') {
      states[part.name] = { ...stepState(part, next), ...on };
      if (part.name === saga.pivotStep) past = true;
    } else {
      const regions: Record<string, any> = {};
      for (const [name, branch] of Object.entries(part.branches)) {
        const inner: Record<string, any> = { done: { type: 'final' } };
        branch.forEach((p, j) => { if (p.type === 'step') inner[p.name] = stepState(p, branch[j + 1]?.name ?? 'done'); });
        regions[name] = { initial: branch[0]?.name, states: inner };
      }
      states[part.name] = { type: 'parallel', states: regions, onDone: next, ...on };
    }
  });
  return setup({ actors }).createMachine({
    id: 'root', context: ({ input }: any) => ({ input: input.input, outputs: {} }), initial: parts[0]?.name as string,
    output: ({ context }: any) => (output === null ? context.outputs : output({ input: context.input, ...context.outputs })),
    states: { ...states, compensating: { invoke: { id: 'compensate', src: 'compensate', onDone: 'compensated' } }, succeeded: { type: 'final' }, compensated: { type: 'final' } },
  } as any) as any;
}
