import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'what-waits-for-a-person-looked-at-without-end',
  what: 'Sagas that have joined what waits for a person are written without a pause, for days.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'return isSoon ? LOOK_PAUSE_MS : Math.min(lookPauseMs(this.#others, this.#moment.now), atMostMs);',
  replace: 'return isSoon ? LOOK_PAUSE_MS : Math.min(1, lookPauseMs(this.#others, this.#moment.now));',
};
