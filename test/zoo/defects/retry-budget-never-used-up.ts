import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'retry-budget-never-used-up',
  what: 'Further attempts count towards no budget, so that a company is sent to again as often as there are operations.',
  file: 'src/orchestrator/permits.ts',
  find: "    if (kind === 'further') return retryBudget === null ? [] : [retryBudget];",
  replace: "    if (kind === 'further') return retryBudget === null ? [] : [];",
};
