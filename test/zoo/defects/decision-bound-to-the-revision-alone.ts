import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'decision-bound-to-the-revision-alone',
  what: 'A person who read a history that a fail-over has lost is obeyed on another one that has had as many turns.',
  edits: [
    {
      file: 'src/orchestrator/decide.ts',
      find: 'if (seen !== isNow) {',
      replace: 'if (Number.parseInt(seen, 10) !== Number.parseInt(isNow, 10)) {',
    },
    {
      file: 'src/orchestrator/advance.ts',
      find: 'if (moved || verdict.seen !== seen) {',
      replace: 'if (moved || Number.parseInt(verdict.seen, 10) !== Number.parseInt(seen, 10)) {',
    },
  ],
};
