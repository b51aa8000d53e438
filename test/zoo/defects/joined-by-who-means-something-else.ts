import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'joined-by-who-means-something-else',
  what: 'A saga that means another reservation by the same key is given the one that somebody else has.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'if (row === null || shared === null || shared.fingerprint !== row.fingerprint) {',
  replace: 'if (row === null || shared === null) {',
};
