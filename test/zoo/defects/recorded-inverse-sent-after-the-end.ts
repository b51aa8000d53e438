import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'recorded-inverse-sent-after-the-end',
  what: 'A saga that a person ended as it stood still sends an inverse that was recorded and not sent.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'const isWaitedFor = !isTerminated && (!isForward || (compensation === null && !entry.isLeft));',
  replace: 'const isWaitedFor = !isForward || (!isTerminated && compensation === null && !entry.isLeft);',
};
