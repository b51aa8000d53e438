import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'local-clock-for-due-times',
  what: 'Whether something is due is judged by this machine’s clock, so one that goes wrong sends too early or not at all.',
  file: 'src/orchestrator/driver.ts',
  find: 'return now + (this.#around.clock.monotonic() - heardAt.monotonic);',
  replace: 'return this.#around.clock.now();',
};
