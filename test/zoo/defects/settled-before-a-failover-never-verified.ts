import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'settled-before-a-failover-never-verified',
  what: 'What had settled shortly before a fail-over is never asked about again, and a contradiction that was lost stays lost.',
  file: 'src/orchestrator/orchestrator.ts',
  find: '(timeline) => verification.begin(timeline),',
  replace: '() => {},',
};
