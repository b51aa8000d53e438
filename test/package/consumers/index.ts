import {
  absent,
  createOrchestrator,
  failed,
  found,
  isSagacityError,
  operation,
  type OutputOf,
  type Result,
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
