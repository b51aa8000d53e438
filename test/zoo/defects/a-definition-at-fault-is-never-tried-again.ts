import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-definition-at-fault-is-never-tried-again',
  what: 'A saga whose definition was at fault stands still for ever, although that has been repaired.',
  file: 'src/orchestrator/saga-turn.ts',
  find: `    this.#course = { ...course, fault: null };
    const timer`,
  replace: '    const timer',
};
