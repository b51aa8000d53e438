import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'retired-under-way-without-a-due-time',
  what: 'What a stopping worker gives back in the middle of an attempt is due never, so nobody takes it up again.',
  file: 'src/adapters/memory/rows.ts',
  find: 'const dueAt = isAtRest ? row.dueAt : (row.dueAt ?? now);',
  replace: 'const { dueAt } = row;',
};
