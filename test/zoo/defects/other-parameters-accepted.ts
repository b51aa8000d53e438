import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'other-parameters-accepted',
  what: 'A key that was used with other parameters is joined, so the caller is told that another amount was charged than was.',
  file: 'src/orchestrator/orchestrator.ts',
  find: 'if (row.fingerprint !== newborn.fingerprint) throw',
  replace: 'if (row.fingerprint !== newborn.fingerprint && row.id !== newborn.ref.id) throw',
};
