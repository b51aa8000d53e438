import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'event-said-to-be-taken-while-at-fault',
  what: 'An event that its chart is at fault with is said to be taken, and is lost.',
  file: 'src/orchestrator/saga-turn.ts',
  find: "if (this.#give(signal.event)) return this.#end(signal, 'applied', null);",
  replace: "if (this.#give(signal.event) || this.#course.fault !== null) return this.#end(signal, 'applied', null);",
};
