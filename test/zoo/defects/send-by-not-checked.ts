import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'send-by-not-checked',
  what: 'A worker that was frozen after it had recorded a start sends whenever it wakes, also after the request’s absence was proven.',
  file: 'src/orchestrator/driver.ts',
  find: `          if (msSince(clock, stamp) > leavesWithinMs) return 'its time to be sent had passed';
`,
  replace: '',
};
