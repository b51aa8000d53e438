import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'verdict-applied-although-the-history-moved-on',
  what: 'A person’s decision is applied to a history that they have not seen, so it overrules what was learnt since.',
  file: 'src/orchestrator/advance.ts',
  find: 'if (moved || verdict.seen !== seen) {',
  replace: 'if (moved && verdict.seen !== seen) {',
};
