import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'hand-overs-never-looked-for',
  what: 'The sweep does not ask for what was handed over to its operations, so a decision made elsewhere waits for ever.',
  file: 'src/orchestrator/orchestrator.ts',
  find: `      for (const ref of await store.handedOver(worker.id, HANDED_OVER_LIMIT)) driver.attend(ref);
`,
  replace: '',
};
