import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-fault-of-a-definition-leaves-what-it-had-begun',
  what: "A step that was begun before the author's code threw is left in the ledger, and is begun once more when that is repaired.",
  file: 'src/orchestrator/saga-turn.ts',
  find: `      this.#changes.clear();
      for (const [id, change] of changes) this.#changes.set(id, change);
`,
  replace: '',
};
