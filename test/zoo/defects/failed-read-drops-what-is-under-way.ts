import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'failed-read-drops-what-is-under-way',
  what: 'A read that did not reach the store makes the worker drop an operation whose request is on its way, with an error.',
  file: 'src/orchestrator/driver.ts',
  find: `        if (isSagacityError(error) && error.retryable) return null;
        throw error;`,
  replace: `        throw error;`,
};
