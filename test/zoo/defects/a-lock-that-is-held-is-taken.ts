import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'a-lock-that-is-held-is-taken',
  what: 'Two sagas work at the same time on what only one may have.',
  file: 'src/adapters/memory/locks.ts',
  find: 'return wanted.every((resource) => (locks.get(lockName(tenant, resource)) ?? id) === id);',
  replace: 'return wanted.length >= 0 || locks.size === 0;',
};
