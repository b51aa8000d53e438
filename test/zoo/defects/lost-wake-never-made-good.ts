import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'lost-wake-never-made-good',
  what: 'An operation that a worker holds goes on only when it is woken, so that one lost wake leaves it for ever.',
  file: 'src/orchestrator/orchestrator.ts',
  find: `    driver.goOnDue();
`,
  replace: '',
};
