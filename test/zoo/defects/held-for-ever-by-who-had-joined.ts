import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'held-for-ever-by-who-had-joined',
  what: 'A saga that waited for one that had joined what it takes back is never looked at again, although that one is over.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'const isHeld = this.#course.heldBy.length > 0;',
  replace: 'const isHeld = this.#course.heldBy.length > 0 && this.#others === null;',
};
