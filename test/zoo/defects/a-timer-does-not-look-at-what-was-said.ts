import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-timer-does-not-look-at-what-was-said',
  what: 'A wait ends in vain although what it waits for was said in time, to another process.',
  file: 'src/orchestrator/driver.ts',
  find: 'if (said !== null && (await this.#hear(held, said))) return await this.#goOnAfterWords(held);',
  replace: '',
};
