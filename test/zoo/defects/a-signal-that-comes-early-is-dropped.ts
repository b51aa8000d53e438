import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-signal-that-comes-early-is-dropped',
  what: 'What is said to a saga before it waits for it is said to be kept, and is not.',
  file: 'src/orchestrator/saga-turn.ts',
  find: `this.#course = { ...this.#course, kept: [...kept, signal] };
    this.#heard.push(signal);
    this.#hearKept();`,
  replace: `this.#course = { ...this.#course, kept: [...kept, signal] };
    this.#heard.push(signal);
    this.#hearKept();
    this.#course = { ...this.#course, kept };`,
};
