import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'termination-takes-back',
  what: 'A saga that a person ended as it stood begins to take back what it did.',
  file: 'src/orchestrator/saga-compensation.ts',
  find: `  if (isTerminated) return [];
`,
  replace: '  if (isTerminated && compensation !== null) return [];\n',
};
