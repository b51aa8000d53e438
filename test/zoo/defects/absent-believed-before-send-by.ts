import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'absent-believed-before-send-by',
  what: 'A look-up that finds nothing counts while the request may still be on its way, so it is sent again too soon.',
  file: 'src/domain/policy.ts',
  find: '  const counts = beganAt >= visibleFrom(policy, lookup, facts) && keyCounts(policy, facts);',
  replace: '  const counts = keyCounts(policy, facts);',
};
