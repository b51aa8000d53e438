import type { GuaranteeDefect } from '../../guarantees/guarantee.ts';

export const defect: GuaranteeDefect = {
  name: 'crashed-owner-waited-for-for-ever',
  what: 'Nobody finds out that a worker has died, so who submits once more waits behind it without an end.',
  edits: [
    {
      file: 'src/orchestrator/orchestrator.ts',
      find: `      await store.bury(worker.id, { timeoutMs: heartbeat.timeoutMs });
`,
      replace: '',
    },
    {
      file: 'src/orchestrator/worker.ts',
      find: "    if (this.#store.exclusive) await this.#store.bury(this.#id, 'others');\n",
      replace: '',
    },
  ],
  guarantee: 'R34',
  spec: 'test/spec/rehearsal-key-states.test.ts',
};
