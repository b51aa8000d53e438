import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'late-result-forgotten-in-doubt',
  what: 'What came after the time-out is handed over once, and forgotten when the store does not answer.',
  file: 'src/orchestrator/driver.ts',
  find: '      this.handOver(aggregate.ref, { ...evidence, operation }, this.newHandoverId()).catch((error: unknown) => {',
  replace:
    '      this.handOver(aggregate.ref, { ...evidence, operation }, this.newHandoverId(), 0).catch((error: unknown) => {\n' +
    '        if (isSagacityError(error) && error.retryable) return;',
};
