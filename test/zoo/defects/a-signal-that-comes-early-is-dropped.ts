import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-signal-that-comes-early-is-dropped',
  what: 'What is said to a saga before it waits for it is said to be kept, and is not.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'const most = this.#now.saga.limits.signals;\n    if (this',
  replace:
    'const most = this.#now.saga.limits.signals;\n    this.#course = { ...this.#course, kept: this.#course.kept.filter((other) => other !== signal) };\n    if (this',
};
