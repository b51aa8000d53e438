import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'given-up-by-another-told-as-cancelled',
  what: 'A saga whose step waits for what another one gives up is told that it was cancelled, and nobody has done that.',
  file: 'src/orchestrator/joined.ts',
  find: "if (!history.cancelled || code !== 'cancelled') return",
  replace: 'if (!history.cancelled || code !== null) return',
};
