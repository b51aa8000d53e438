import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'wake-believed-without-the-due-time',
  what: 'A wake that comes early is obeyed at once, so pauses between attempts are skipped when wakes are forged or repeated.',
  file: 'src/orchestrator/driver.ts',
  find: `      return waitMs <= 0;
`,
  replace: `      return true;
`,
};
