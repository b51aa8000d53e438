import * as v from 'valibot';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { contract } from '../../src/define/contract.ts';
import { type Operation, operation } from '../../src/define/operation.ts';
import type { CodeOf, InputOf, OutputOf, Result, SubmittedOf } from '../../src/define/result.ts';
import { type Schema, typed } from '../../src/define/schema.ts';
import type { Rate } from '../../src/define/work-limit.ts';
import type { EscalationReason, OperationState } from '../../src/domain/operation-state.ts';
import {
  absent,
  failed,
  found,
  inconclusive,
  notApplied,
  type Outcome,
  succeeded,
  unknown,
} from '../../src/domain/outcome.ts';

interface Payment {
  readonly orderId: string;
  readonly amount: number;
}
interface Charge {
  readonly id: string;
  readonly declined: boolean;
}
declare const payments: {
  charge(payment: Payment, options: { idempotencyKey: string; signal: AbortSignal }): Promise<Charge>;
  findByKey(key: string): Promise<Charge | null>;
};
declare const timestamps: Schema<{ at: string; note?: string }, { at: Date; note?: string }>;

const input = typed<Payment>();
const unaided = { keyRetention: 'none', lookup: 'none' } as const;

const described = contract({
  ...{ name: 'card-company/charges', version: '1', docs: 'https://docs.card-company.example', verified: 'unverified' },
  ...{ key: 'none', lookup: { by: 'reference', visibleWithin: '1m' } },
});

const refundCharge = operation('card.refund', {
  input: typed<{ chargeId: string }>(),
  execute: async () => succeeded({ refunded: true }),
  ...unaided,
});

describe('an operation without an output schema', () => {
  test('takes output and codes from what execute returns', () => {
    const chargeCard = operation('card.charge', {
      input,
      key: ({ input: payment }) => payment.orderId,
      async execute({ input: payment, idempotencyKey, abortSignal }) {
        const charge = await payments.charge(payment, { idempotencyKey, signal: abortSignal });
        return charge.declined ? failed('card_declined') : succeeded({ chargeId: charge.id });
      },
      keyRetention: '24h',
      lookup: {
        visibleWithin: '30s',
        async find({ idempotencyKey }) {
          const charge = await payments.findByKey(idempotencyKey);
          return charge ? found(succeeded({ chargeId: charge.id })) : absent();
        },
      },
    });

    expectTypeOf(chargeCard).toEqualTypeOf<
      Operation<'card.charge', Payment, { chargeId: string }, 'card_declined', Payment, 'undeclared'>
    >();
    expectTypeOf<InputOf<typeof chargeCard>>().toEqualTypeOf<Payment>();
    expectTypeOf<SubmittedOf<typeof chargeCard>>().toEqualTypeOf<Payment>();
    expectTypeOf<OutputOf<typeof chargeCard>>().toEqualTypeOf<{ chargeId: string }>();
    expectTypeOf<CodeOf<typeof chargeCard>>().toEqualTypeOf<'card_declined'>();
  });

  test('has every code and every shape of output that execute can return', () => {
    const several = operation('several', {
      input,
      execute: ({ input: { amount } }) => {
        if (amount > 9) return failed('too_high');
        if (amount > 8) return notApplied('busy');
        if (amount > 7) return unknown('odd answer');
        if (amount > 6) return failed('blocked');
        return amount > 5 ? succeeded({ chargeId: 'c' }) : succeeded({ voucher: 5 });
      },
      ...unaided,
    });

    expectTypeOf<CodeOf<typeof several>>().toEqualTypeOf<'too_high' | 'blocked'>();
    expectTypeOf<OutputOf<typeof several>>().toEqualTypeOf<{ chargeId: string } | { voucher: number }>();
  });

  test('takes them from a return type that is written down', () => {
    const charge = async (): Promise<Outcome<{ chargeId: string }, 'card_declined' | 'blocked'>> => failed('blocked');
    const annotated = operation('annotated', { input, execute: charge, ...unaided });

    expectTypeOf<CodeOf<typeof annotated>>().toEqualTypeOf<'card_declined' | 'blocked'>();
    expectTypeOf<OutputOf<typeof annotated>>().toEqualTypeOf<{ chargeId: string }>();
  });

  test('has no code when execute only succeeds, and no output when it never does', () => {
    const never = operation('never', { input, execute: async () => notApplied('closed'), ...unaided });

    expectTypeOf<CodeOf<typeof refundCharge>>().toEqualTypeOf<never>();
    expectTypeOf<OutputOf<typeof never>>().toEqualTypeOf<never>();
  });
});

describe('an operation with a contract', () => {
  test('takes output and codes from execute and find as any other', () => {
    const chargeCard = operation('card.charge', {
      input,
      execute: async ({ input: { amount } }) => (amount > 5 ? failed('no') : succeeded({ chargeId: 'c' })),
      contract: described,
      lookup: {
        find: async ({ input: { amount }, idempotencyKey }) =>
          amount > 5 ? found(failed('voided')) : found(succeeded({ chargeId: idempotencyKey })),
        every: '1m',
      },
    });
    const unasked = operation('unasked', { input, execute: () => succeeded(true), contract: described });

    expectTypeOf(chargeCard).toEqualTypeOf<
      Operation<'card.charge', Payment, { chargeId: string }, 'no' | 'voided', Payment, 'undeclared'>
    >();
    expectTypeOf<OutputOf<typeof unasked>>().toEqualTypeOf<boolean>();
  });
});

describe('the limit of an operation', () => {
  test('is a concurrency, a rate for a second, a minute or an hour, or both', () => {
    const limited = operation('limited', {
      ...{ input, execute: () => succeeded({ chargeId: 'c' }), ...unaided },
      limit: { concurrency: 3, rate: '25/s' },
      provider: 'card-company',
    });

    expectTypeOf<OutputOf<typeof limited>>().toEqualTypeOf<{ chargeId: string }>();
    expectTypeOf<'600/m' | '10/h'>().toExtend<Rate>();
    expectTypeOf<'10/d'>().not.toExtend<Rate>();
    expectTypeOf<'ten/s'>().not.toExtend<Rate>();
  });
});

describe('an operation whose look-up finds refusals', () => {
  test('has the codes of execute and of find', () => {
    const joined = operation('joined', {
      input,
      execute: ({ input: { amount } }) => (amount > 5 ? failed('card_declined') : succeeded({ chargeId: 'c' })),
      keyRetention: '24h',
      lookup: {
        visibleWithin: 0,
        async find({ idempotencyKey }) {
          const charge = await payments.findByKey(idempotencyKey);
          if (charge === null) return inconclusive();
          return charge.declined ? found(failed('reversed')) : found(succeeded({ chargeId: charge.id }));
        },
      },
    });

    expectTypeOf<CodeOf<typeof joined>>().toEqualTypeOf<'card_declined' | 'reversed'>();
    expectTypeOf<OutputOf<typeof joined>>().toEqualTypeOf<{ chargeId: string }>();
  });

  test('has them also when find takes nothing, or is written first', () => {
    const bare = operation('bare', {
      input,
      execute: () => succeeded({ chargeId: 'c' }),
      keyRetention: 'none',
      lookup: { visibleWithin: '1s', find: () => found(failed('reversed')) },
    });
    const first = operation('first', {
      lookup: {
        visibleWithin: '1s',
        find: ({ input: { amount } }) => (amount > 5 ? found(failed('late')) : found(succeeded({ chargeId: 'c' }))),
      },
      input,
      execute: async ({ input: { amount } }) => (amount > 5 ? failed('soon') : succeeded({ chargeId: 'c' })),
      keyRetention: 'none',
    });

    expectTypeOf<CodeOf<typeof bare>>().toEqualTypeOf<'reversed'>();
    expectTypeOf<CodeOf<typeof first>>().toEqualTypeOf<'late' | 'soon'>();
    expectTypeOf<OutputOf<typeof first>>().toEqualTypeOf<{ chargeId: string }>();
  });

  test('has any text as a code when find takes the code from the provider', () => {
    const open = operation('open', {
      input,
      execute: () => succeeded({ chargeId: 'c' }),
      keyRetention: 'none',
      lookup: { visibleWithin: '1s', find: ({ input: { orderId } }) => found(failed(orderId)) },
    });

    expectTypeOf<CodeOf<typeof open>>().toEqualTypeOf<string>();
  });
});

describe('an operation with schemas', () => {
  test('executes the output of its input schema and is submitted with what the schema takes', () => {
    const zodded = operation('zodded', {
      input: z.object({ orderId: z.string(), currency: z.string().default('EUR'), at: z.coerce.date() }),
      key: ({ input: order }) => order.at.toISOString(),
      execute: ({ input: order }) => succeeded({ currency: order.currency }),
      ...unaided,
    });
    const valid = operation('valid', {
      input: v.object({ amount: v.pipe(v.string(), v.transform(Number)), note: v.optional(v.string(), '') }),
      execute: ({ input: { amount, note } }) => succeeded({ amount, note }),
      ...unaided,
    });

    expectTypeOf<InputOf<typeof zodded>>().toEqualTypeOf<{ orderId: string; currency: string; at: Date }>();
    expectTypeOf<SubmittedOf<typeof zodded>>().toEqualTypeOf<{
      orderId: string;
      currency?: string | undefined;
      at: unknown;
    }>();
    expectTypeOf<OutputOf<typeof zodded>>().toEqualTypeOf<{ currency: string }>();
    expectTypeOf<SubmittedOf<typeof valid>>().toEqualTypeOf<{ amount: string; note?: string | undefined }>();
    expectTypeOf<OutputOf<typeof valid>>().toEqualTypeOf<{ amount: number; note: string }>();
  });

  test('has the output of its output schema, which execute and find produce', () => {
    const stamped = operation('stamped', {
      input,
      output: timestamps,
      execute: async ({ input: { amount } }) => (amount > 5 ? failed('no') : succeeded({ at: 'noon' })),
      keyRetention: 'none',
      lookup: { visibleWithin: '1s', find: async () => found(succeeded({ at: 'noon', note: 'late' })) },
      compensate: { operation: refundCharge, input: ({ output }) => ({ chargeId: output.at.toISOString() }) },
    });
    const worded = operation('worded', {
      input,
      output: typed<{ status: 'ok' | 'late' }>(),
      execute: async ({ input: { amount } }) => (amount > 5 ? failed('no') : succeeded({ status: 'ok' })),
      keyRetention: 'none',
      lookup: {
        visibleWithin: '1s',
        find: ({ input: { amount } }) => (amount > 5 ? absent() : found(succeeded({ status: 'late' }))),
      },
    });

    expectTypeOf(stamped).toEqualTypeOf<
      Operation<'stamped', Payment, { at: Date; note?: string }, 'no', Payment, 'inverse'>
    >();
    expectTypeOf<OutputOf<typeof worded>>().toEqualTypeOf<{ status: 'ok' | 'late' }>();
  });
});

describe('a compensation', () => {
  test('sees input and output, and is known to the type', () => {
    const undone = operation('undone', {
      input,
      execute: () => succeeded({ chargeId: 'c' }),
      ...unaided,
      compensate: {
        operation: refundCharge,
        input: (context) => {
          expectTypeOf(context).toEqualTypeOf<{ readonly input: Payment; readonly output: { chargeId: string } }>();
          return { chargeId: context.output.chargeId };
        },
      },
    });
    const standing = operation('standing', {
      input,
      execute: () => succeeded(true),
      ...unaided,
      compensate: { none: 'an e-mail cannot be called back' },
    });

    expectTypeOf<NonNullable<(typeof undone)['~types']>['undo']>().toEqualTypeOf<'inverse'>();
    expectTypeOf<NonNullable<(typeof standing)['~types']>['undo']>().toEqualTypeOf<'none'>();
    expectTypeOf<NonNullable<(typeof refundCharge)['~types']>['undo']>().toEqualTypeOf<'undeclared'>();
    expectTypeOf([undone, standing, refundCharge]).toExtend<readonly Operation[]>();
  });
});

describe('a result', () => {
  test('is told apart by its status', () => {
    const told = (result: Result<{ chargeId: string }, 'card_declined'>) => {
      switch (result.status) {
        case 'succeeded':
          return expectTypeOf(result.output).toEqualTypeOf<{ chargeId: string }>();
        case 'failed':
          return expectTypeOf(result.code).toEqualTypeOf<'card_declined' | 'attempts-exhausted' | 'cancelled'>();
        case 'escalated':
          return expectTypeOf(result.reason).toEqualTypeOf<EscalationReason>();
        case 'in-progress':
          return expectTypeOf(result.state).toEqualTypeOf<OperationState>();
        case 'compensating':
        case 'compensated':
          return expectTypeOf(result).not.toHaveProperty('output');
      }
    };

    expectTypeOf(told).returns.not.toBeAny();
    expectTypeOf<Result<number, 'a'>>().toExtend<Result>();
  });
});

describe('what does not compile', () => {
  const execute = () => succeeded({ chargeId: 'c' });

  test('a definition that leaves a fact about the provider out', () => {
    // @ts-expect-error keyRetention and lookup are missing
    operation('x', { input, execute });
    // @ts-expect-error keyRetention is missing
    operation('x', { input, execute, lookup: 'none' });
    // @ts-expect-error lookup is missing
    operation('x', { input, execute, keyRetention: 'none' });
    // @ts-expect-error visibleWithin is missing
    operation('x', { input, execute, keyRetention: 'none', lookup: { find: () => absent() } });
    // @ts-expect-error input is missing
    operation('x', { execute, ...unaided });
    // @ts-expect-error execute is missing
    operation('x', { input, ...unaided });
  });

  test('a definition that says a fact twice, or takes what is no contract', () => {
    const find = () => absent();
    // @ts-expect-error the contract says keyRetention
    operation('x', { input, execute, contract: described, keyRetention: 'none', lookup: 'none' });
    // @ts-expect-error the contract says visibleWithin
    operation('x', { input, execute, contract: described, lookup: { visibleWithin: '1s', find } });
    // @ts-expect-error a contract is made by contract()
    operation('x', { input, execute, contract: { name: 'card-company/charges' }, lookup: 'none' });
  });

  test('an execute that returns a bare value', () => {
    // @ts-expect-error not an outcome
    operation('x', { input, execute: () => ({ chargeId: 'c' }), ...unaided });
    // @ts-expect-error not an outcome
    operation('x', { input, execute: async () => undefined, ...unaided });
  });

  test('a find whose output is another one, or which returns an outcome', () => {
    const visibleWithin = '1s';
    const keyRetention = 'none';
    operation('x', {
      input,
      execute,
      keyRetention,
      // @ts-expect-error chargeId is a string
      lookup: { visibleWithin, find: () => found(succeeded({ chargeId: 1 })) },
    });
    operation('x', {
      input,
      execute,
      keyRetention,
      // @ts-expect-error an outcome is not a finding
      lookup: { visibleWithin, find: () => succeeded({ chargeId: 'c' }) },
    });
    operation('x', {
      input,
      execute,
      keyRetention,
      // @ts-expect-error nobody knows what was found
      lookup: { visibleWithin, find: (): unknown => absent() },
    });
    operation('x', {
      input,
      execute,
      keyRetention,
      // @ts-expect-error an unknown record is no charge
      lookup: { visibleWithin, find: () => found(succeeded(JSON.parse('{}') as unknown)) },
    });
  });

  test('an execute or a find that does not produce what the output schema takes', () => {
    const output = typed<{ id: string }>();
    // @ts-expect-error id is a string
    operation('x', { input, output, execute: () => succeeded({ id: 1 }), ...unaided });
    const lookup = { visibleWithin: '1s', find: () => found(succeeded({ id: 1 })) } as const;
    // @ts-expect-error id is a string
    operation('x', { input, output, execute: () => succeeded({ id: 'c' }), keyRetention: 'none', lookup });
  });

  test('an option nobody reads', () => {
    // @ts-expect-error timeOut is not an option
    operation('x', { input, execute, ...unaided, timeOut: '3s' });
    // @ts-expect-error tries is not an option
    operation('x', { input, execute, ...unaided, retry: { tries: 3 } });
  });

  test('a key that is not a string', () => {
    // @ts-expect-error a number
    operation('x', { input, execute, ...unaided, key: ({ input: payment }) => payment.amount });
    // @ts-expect-error there is no output yet
    operation('x', { input, execute, ...unaided, key: ({ output }) => output.chargeId });
  });

  test('an inverse that gets the wrong input', () => {
    const inverse = refundCharge;
    // @ts-expect-error chargeId is a string
    operation('x', { input, execute, ...unaided, compensate: { operation: inverse, input: () => ({ chargeId: 1 }) } });
    // @ts-expect-error chargeId is missing
    operation('x', { input, execute, ...unaided, compensate: { operation: inverse, input: () => ({}) } });
    // @ts-expect-error input is missing
    operation('x', { input, execute, ...unaided, compensate: { operation: inverse } });
    const undo = () => ({ chargeId: 'c' });
    // @ts-expect-error not an operation
    operation('x', { input, execute, ...unaided, compensate: { operation: undo, input: undo } });
    operation('x', {
      input,
      execute,
      ...unaided,
      // @ts-expect-error there is no such output
      compensate: { operation: inverse, input: ({ output }) => ({ chargeId: output.id }) },
    });
  });

  test('words and durations that are none', () => {
    // @ts-expect-error '10 minutes' is not a duration
    operation('x', { input, execute, ...unaided, timeout: '10 minutes' });
    // @ts-expect-error '24 hours' is not a duration
    operation('x', { input, execute, keyRetention: '24 hours', lookup: 'none' });
    // @ts-expect-error 'some' is not a jitter
    operation('x', { input, execute, ...unaided, retry: { jitter: 'some' } });
    // @ts-expect-error 'linear' is not a backoff
    operation('x', { input, execute, ...unaided, retry: { backoff: 'linear' } });
    // @ts-expect-error a list is wanted
    operation('x', { input, execute, ...unaided, volatile: 'meta.requestedAt' });
  });

  test('a change to what has been defined', () => {
    // @ts-expect-error read-only
    refundCharge.policy.timeoutMs = 1;
    // @ts-expect-error read-only
    refundCharge.action = 'card.refund';
  });
});
