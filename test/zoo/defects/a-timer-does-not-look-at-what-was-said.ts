import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-timer-does-not-look-at-what-was-said',
  what: 'A wait ends in vain although what it waits for was said in time, to another process.',
  file: 'src/orchestrator/driver.ts',
  find: 'if (stored !== null && stored.handovers.length > 0) return await this.#applyHandovers(held, stored);',
  replace: '',
};
