import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'absence-final-while-the-key-is-known',
  what: 'A charge has failed for an absence, although nobody said how late its request can arrive, and then it does.',
  file: 'src/domain/policy.ts',
  find: 'if (startMayBeLost(history, facts) || mayStillArrive(history)) return null;',
  replace: `const isLimited = policy.lookup !== null && policy.lookup.arrivalLimitMs !== null;
  if (startMayBeLost(history, facts) || (isLimited && mayStillArrive(history))) return null;`,
};
