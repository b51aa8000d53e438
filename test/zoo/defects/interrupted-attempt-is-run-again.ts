import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'interrupted-attempt-is-run-again',
  what: 'What a crashed worker had begun is begun again instead of looked up, so an order that was charged is sent twice.',
  file: 'src/orchestrator/driver.ts',
  find: "    await this.#write(held, ofOperation(id, { type: 'attempt.ended', generation: attempt.generation, ...end }));",
  replace: `    const { tenant } = held.aggregate.ref;
    const permit = await this.#around.permits.take({ tenant, action: 'any', kind: 'further' });
    const hand = this.#handFor(held);
    if (permit !== null) this.#performAll(held, [id], stampNow(this.#around.clock), hand.with(id, permit));`,
};
