import {
  absent,
  type AnyOperation,
  type AttemptContext,
  createOrchestrator,
  failed,
  found,
  type HistoryRecord,
  isSagacityError,
  type LibraryCode,
  type LookupContext,
  operation,
  type OrchestratorOptions,
  type OutputOf,
  type RecordKind,
  type Result,
  saga,
  type Saga,
  type SagaResult,
  type Settling,
  type Store,
  succeeded,
  typed,
} from 'sagacity';

const charge = operation('card.charge', {
  input: typed<{ orderId: string; amount: number }>(),
  key: ({ input }) => input.orderId,
  execute: ({ input }) => (input.amount > 100 ? failed('too_much') : succeeded({ chargeId: input.orderId })),
  keyRetention: '24h',
  lookup: {
    visibleWithin: '30s',
    find: ({ input }) => (input.amount > 0 ? found(succeeded({ chargeId: 'c' })) : absent()),
  },
});

const refund = operation('card.refund', {
  input: typed<{ chargeId: string }>(),
  execute: () => succeeded({ refunded: true }),
  keyRetention: 'none',
  lookup: 'none',
});

export const purchase = saga('purchase', {
  input: typed<{ orderId: string; amount: number }>(),
  key: ({ input }) => input.orderId,
  within: '2d',
})
  .step('charge', charge, ({ input }) => input, {
    compensate: { operation: refund, input: ({ output }) => ({ chargeId: output.chargeId }) },
  })
  .parallel('both', (branch) => ({
    one: branch.step('first', refund, ({ charge }) => charge, { compensate: { none: 'nothing does' } }),
    other: branch.step('second', refund, ({ charge }) => charge, { compensate: { none: 'nothing does' } }),
  }));

export const sagas: readonly Saga[] = [purchase, purchase.output(({ charge }) => charge.chargeId)];

export function chargeIn(result: SagaResult<{ charge: { chargeId: string } }>): string {
  return result.status === 'succeeded' ? result.output.charge.chargeId : result.status;
}

export const output: OutputOf<typeof charge> = { chargeId: 'c' };

export async function submitted(store: Store): Promise<Result<{ chargeId: string }, 'too_much'>> {
  const orchestrator = createOrchestrator({ store, definitions: [charge], tenant: 'shop' });
  try {
    const run = await orchestrator.submit(charge, { orderId: 'order-1', amount: 3 });
    return await run.result({ within: '1s' });
  } catch (error) {
    if (isSagacityError(error, 'IDEMPOTENCY_CONFLICT')) return { status: 'in-progress', state: 'unknown' };
    throw error;
  } finally {
    await orchestrator.stop();
  }
}

/** What a service names when it writes its executors and look-ups apart from its definitions. */
export function amountOf({ input }: AttemptContext<{ amount: number }>): number {
  return input.amount;
}

export function recordOf({ input }: LookupContext<{ orderId: string }>): Settling<{ chargeId: string }, 'too_much'> {
  return input.orderId === '' ? failed('too_much') : succeeded({ chargeId: input.orderId });
}

export function options(store: Store, definitions: readonly AnyOperation[]): OrchestratorOptions {
  return { store, definitions };
}

export function isOfKind({ kind }: HistoryRecord, wanted: RecordKind): boolean {
  return kind === wanted;
}

export const ours: readonly LibraryCode[] = ['attempts-exhausted', 'cancelled'];
