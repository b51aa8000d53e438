import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'found-refusal-settles-a-later-attempt',
  what: 'A refusal in the books is taken for the answer to an attempt that was sent after it, and that one took effect.',
  file: 'src/domain/attempt.ts',
  find: '        if (!speaksForAll && mayBeOfAnother(answered)) return answered;\n',
  replace: '',
};
