import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'contradiction-written-as-output',
  what: 'Word that contradicts a failure is written as the output of what has failed, as though it had been applied.',
  file: 'src/orchestrator/advance.ts',
  find: 'return { context, history: { ...learnt, result: context.history.result }, contradicted };',
  replace: 'return { context, history: learnt, contradicted };',
};
