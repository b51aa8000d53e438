import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'other-parameters-accepted',
  what: 'A key that was used with other parameters is joined, so the caller is told that another amount was charged than was.',
  file: 'src/orchestrator/orchestrator.ts',
  find: 'if (row.fingerprint !== birth.fingerprint) {',
  replace: 'if (row.fingerprint !== birth.fingerprint && row.key !== birth.key) {',
};
