import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'taken-back-under-a-saga-that-has-joined',
  what: 'What an open saga has joined is taken back under it: it goes on with a reservation that nobody holds.',
  file: 'src/orchestrator/saga-turn.ts',
  find: '    if (heldBy.length > 0) return;\n',
  replace: '',
};
