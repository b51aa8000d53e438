import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'cancelled-after-the-pivot',
  what: 'A cancellation is heeded although there is no way back any more: goods that are on their way are paid back.',
  file: 'src/orchestrator/saga-turn.ts',
  find: `    if (this.#isPivotPassed()) return refused('its pivot has succeeded, and nothing is taken back any more');
`,
  replace: '',
};
