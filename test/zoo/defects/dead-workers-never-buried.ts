import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'dead-workers-never-buried',
  what: 'The sweep does not look for workers whose heartbeat has stopped, so what they held is never taken over.',
  file: 'src/orchestrator/orchestrator.ts',
  find: `      await store.bury(worker.id, { timeoutMs: heartbeat.timeoutMs });
`,
  replace: '',
};
