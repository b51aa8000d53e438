import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'late-result-left-by-a-stop',
  what: 'A stop does not wait for what came late and is being handed over, so it is gone with the process.',
  file: 'src/orchestrator/driver.ts',
  find: `    this.#track(
      this.handOver(aggregate.ref, { ...evidence, operation }, this.newHandoverId()).catch((error: unknown) => {
        // At a stop nothing is repeated any more: a look-up or a person finds out what this would have told.
        const level = this.#closed && isSagacityError(error) && error.retryable ? 'warn' : 'error';
        this.#around.logger[level]({ operation, error }, 'late result could not be kept');
      }),
    );`,
  replace: `    this.handOver(aggregate.ref, { ...evidence, operation }, this.newHandoverId()).catch((error: unknown) => {
      const level = this.#closed && isSagacityError(error) && error.retryable ? 'warn' : 'error';
      this.#around.logger[level]({ operation, error }, 'late result could not be kept');
    });`,
};
