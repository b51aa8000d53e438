import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'update-by-id-only',
  what: 'A turn is written whoever owns the operation by now, so a worker that lost its claim overwrites what the next one did.',
  file: 'src/adapters/memory/rows.ts',
  find: 'return row.owner === was.owner && row.generation === was.generation && row.revision === was.revision;',
  replace: 'return true;',
};
