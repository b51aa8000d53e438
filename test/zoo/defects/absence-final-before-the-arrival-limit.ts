import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'absence-final-before-the-arrival-limit',
  what: 'A charge has failed for an absence, although its request can still arrive within the limit that was declared.',
  file: 'src/domain/policy.ts',
  find: 'if (startMayBeLost(history, facts) || mayStillArrive(history)) return null;',
  replace: `const isLimited = policy.lookup !== null && policy.lookup.arrivalLimitMs !== null;
  if (startMayBeLost(history, facts) || (!isLimited && mayStillArrive(history))) return null;`,
};
