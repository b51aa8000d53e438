import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'stopped-and-still-waiting',
  what: 'What a stop gave up on is said to be an error, and waits with a timer that keeps the process alive.',
  file: 'src/orchestrator/driver.ts',
  find: `        if (this.#closed && isSagacityError(error) && error.retryable) return;
`,
  replace: '',
};
