import { type AttemptResult, type OperationContext, operationMachine } from 'sagacity/xstate';
import { createActor, fromPromise } from 'xstate';

export const drawn = createActor(
  operationMachine.provide({
    actors: {
      attempt: fromPromise<AttemptResult, { number: number }>(async () => ({ type: 'unknown', reason: 'lost' })),
    },
  }),
  {
    input: {
      policy: {
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
