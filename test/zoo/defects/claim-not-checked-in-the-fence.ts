import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'claim-not-checked-in-the-fence',
  what: 'A turn checks the revision alone, so a worker whose operation was taken over still writes until the other one has.',
  file: 'src/adapters/memory/rows.ts',
  find: 'return row.owner === was.owner && row.generation === was.generation && row.revision === was.revision;',
  replace: 'return row.revision === was.revision;',
};
