import { operation, saga, succeeded, typed } from 'sagacity';
import {
  actorsFrom,
  type AttemptResult,
  machineOf,
  type OperationContext,
  operationMachine,
  refusalOf,
} from 'sagacity/xstate';
import { createActor, fromPromise, setup } from 'xstate';

export const drawn = createActor(
  operationMachine.provide({
    actors: {
      attempt: fromPromise<AttemptResult, { number: number }>(async () => ({ type: 'unknown', reason: 'lost' })),
    },
  }),
  {
    input: {
      policy: {
        contract: null,
        keyRetentionMs: null,
        lookup: null,
        timeoutMs: 1000,
        sendWithinMs: 1000,
        retry: { attempts: 1, backoff: 'fixed', delayMs: 0, maxDelayMs: 0, jitter: 'none' },
        inverse: false,
      },
    },
  },
);

export const reason = (context: OperationContext) => context.reason;

const operations = {
  sendEmail: operation('email.send', {
    input: typed<{ to: string }>(),
    execute: () => succeeded({ messageId: 'm' }),
    keyRetention: 'none',
    lookup: 'none',
    compensate: { none: 'an e-mail cannot be called back' },
  }),
};

const chart = setup({ types: { input: {} as { to: string } }, actors: actorsFrom(operations) }).createMachine({
  initial: 'telling',
  states: {
    telling: {
      invoke: {
        src: 'sendEmail',
        input: { to: 'shop@quay' },
        onDone: { target: 'told', guard: ({ event }) => event.output.messageId !== '' },
        onError: { target: 'back', guard: ({ event }) => refusalOf(event)?.code !== 'ignored' },
      },
    },
    back: { invoke: { src: 'compensate', onDone: 'told' } },
    told: { type: 'final' },
  },
});

export const told = machineOf(
  saga('told', { input: typed<{ to: string }>(), key: ({ input }) => input.to, machine: chart, operations }),
);
