import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'refusal-of-one-request-taken-for-the-keys',
  what: 'A refusal that holds for its own request settles those before it, so that an order has failed and is charged.',
  file: 'src/domain/attempt.ts',
  find: '  const speaksForAll = keyCounts && refusal !== null && speaksForKey(refusal);',
  replace: '  const speaksForAll = keyCounts && refusal !== null;',
};
