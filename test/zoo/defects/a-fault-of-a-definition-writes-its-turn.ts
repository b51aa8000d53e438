import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-fault-of-a-definition-writes-its-turn',
  what: "What the author's code made impossible is written all the same: the chart waits for a step that nobody has begun.",
  file: 'src/orchestrator/saga-turn.ts',
  find: 'this.#course = { ...course, fault: { message, times, timer, reason: faultReasonOf(error) } };',
  replace: 'this.#course = { ...this.#course, fault: { message, times, timer, reason: faultReasonOf(error) } };',
};
