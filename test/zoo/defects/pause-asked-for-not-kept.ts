import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'pause-asked-for-not-kept',
  what: 'A company that asks to be left alone for a while is sent to again as soon as the definition has it.',
  file: 'src/domain/backoff.ts',
  find: 'Math.max(asked.retryAfterMs ?? 0, ',
  replace: 'Math.max(0, ',
};
