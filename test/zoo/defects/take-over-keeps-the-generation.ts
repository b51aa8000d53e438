import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'take-over-keeps-the-generation',
  what: 'A claim is not told from the one before it, so a wake that was meant for the former owner is obeyed by the next.',
  file: 'src/adapters/memory/rows.ts',
  find: 'owner: worker, generation: row.generation + 1 };',
  replace: 'owner: worker, generation: row.generation };',
};
