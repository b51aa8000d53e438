import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'two-records-taken-for-one-effect',
  what: 'Two charges under different names count as one, so nobody hears that the customer paid twice.',
  edits: [
    {
      file: 'src/domain/attempt.ts',
      find: `  if (history.severalFound) return true;
`,
      replace: '',
    },
    {
      file: 'src/domain/attempt.ts',
      find: `  if (named.size > 1) return true;
`,
      replace: '',
    },
  ],
};
