import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'event-heard-twice',
  what: 'An event that is sent again is given to the chart again, and what it counts is counted twice.',
  file: 'src/adapters/memory/signals.ts',
  find: 'if (before !== undefined) return { ...before, now };',
  replace: '',
};
