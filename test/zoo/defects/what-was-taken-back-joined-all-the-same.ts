import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'what-was-taken-back-joined-all-the-same',
  what: 'A saga asks for ever to join what has been taken back, and never learns that it cannot.',
  file: 'src/orchestrator/joined.ts',
  find: "if (state === 'compensating' || state === 'compensated' || isUndone) {",
  replace: 'if (isUndone) {',
};
