import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'start-written-on-another-timeline',
  what: 'A worker that has not heard of a fail-over yet records a start on the new timeline, and sends what was sent before.',
  file: 'src/adapters/memory/rows.ts',
  find: '  if (turn.start !== null && turn.start.timeline !== timeline) return null;\n',
  replace: '',
};
