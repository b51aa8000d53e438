import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'stale-worker-goes-on-sending',
  what: 'A worker that lost its claim between the recorded start and the sending sends nevertheless, beside the one that took over.',
  edits: [
    {
      file: 'src/orchestrator/driver.ts',
      find: `          if (held.dropped || held.worker !== worker.id || !worker.isFresh) return 'its worker had lost its claim';
`,
      replace: '',
    },
    {
      file: 'src/orchestrator/worker.ts',
      find: 'return this.#freshSince !== null && msSince(this.#clock, this.#freshSince) < timeoutMs - everyMs / 2;',
      replace: 'return this.#freshSince !== null;',
    },
  ],
};
