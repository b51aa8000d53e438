import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'absent-final-without-an-arrival-limit',
  what: 'An absence is final although nobody said how late a request can arrive, so a keyless provider charges twice.',
  file: 'src/domain/policy.ts',
  find: `  if (lookup.arrivalLimitMs !== null && beganAt >= visibleFrom(policy, lookup, facts) + lookup.arrivalLimitMs)
    return 'finally';`,
  replace: "  if (beganAt >= visibleFrom(policy, lookup, facts) + (lookup.arrivalLimitMs ?? 0)) return 'finally';",
};
