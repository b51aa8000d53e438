import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'begun-while-the-breaker-is-open',
  what: 'Further attempts go out to a company that is ill, and each of them becomes one more that nobody can vouch for.',
  file: 'src/orchestrator/permits.ts',
  find: "    return kind === 'look-up' || this.#isPassable(action);",
  replace: "    return kind !== 'first' || this.#isPassable(action);",
};
