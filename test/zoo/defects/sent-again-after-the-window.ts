import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'sent-again-after-the-window',
  what: 'A key is used after the provider may have forgotten it, so a second charge is not recognised as the first.',
  edits: [
    {
      file: 'src/domain/policy.ts',
      find: 'return facts.windowEndsAt === null || facts.now < facts.windowEndsAt;',
      replace: 'return true;',
    },
    {
      file: 'src/adapters/memory/rows.ts',
      find: 'return start?.insideWindow !== true || (row.windowEndsAt !== null && now < row.windowEndsAt);',
      replace: 'return true;',
    },
  ],
};
