import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'taken-back-while-something-is-in-doubt',
  what: 'Taking back begins while nobody knows how another step ended, so that step is found done when all is over.',
  file: 'src/orchestrator/saga-compensation.ts',
  find: `  if (ledger.some(isOpen) && !compensation.isPartial) return [];
`,
  replace: '',
};
