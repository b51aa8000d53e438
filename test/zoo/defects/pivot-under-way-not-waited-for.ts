import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'pivot-under-way-not-waited-for',
  what: 'A cancellation takes everything back while the pivot is under way, and the pivot succeeds after that.',
  file: 'src/orchestrator/saga-turn.ts',
  find: "    if (pivot !== undefined && this.#endOfPivot() === 'open') {",
  replace: "    if (pivot !== undefined && this.#endOfPivot() === 'open' && this.#course.isFrozen) {",
};
