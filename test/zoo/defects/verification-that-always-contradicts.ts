import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'verification-that-always-contradicts',
  what: 'After a fail-over whatever had settled is listed as contradicted, and nobody believes the list any more.',
  file: 'src/orchestrator/advance.ts',
  find: "contradicted: contradicted || (stateOf(row) === 'succeeded' && isProven && !showsEffect(finding)),",
  replace: 'contradicted: contradicted || isProven || showsEffect(finding),',
};
