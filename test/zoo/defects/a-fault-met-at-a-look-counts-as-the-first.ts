import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-fault-met-at-a-look-counts-as-the-first',
  what: 'A saga at fault with what others have is tried again every minute for ever, and wakes the people on call each time.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'const times = (this.#now.course.fault?.times ?? 0) + 1;',
  replace: 'const times = (this.#course.fault?.times ?? 0) + 1;',
};
