import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'revision-not-checked-in-the-fence',
  what: 'A turn that is repeated after a lost reply is written once more, so the history tells what happened once as twice.',
  file: 'src/adapters/memory/rows.ts',
  find: 'return row.owner === was.owner && row.generation === was.generation && row.revision === was.revision;',
  replace: 'return row.owner === was.owner && row.generation === was.generation;',
};
