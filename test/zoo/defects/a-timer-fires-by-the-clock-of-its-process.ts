import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-timer-fires-by-the-clock-of-its-process',
  what: 'A pause is over when the clock of the process says so, which is a little fast.',
  file: 'src/orchestrator/driver.ts',
  find: 'stored !== null && stored.now < dueAt',
  replace: 'stored !== null && stored.now < 0',
};
