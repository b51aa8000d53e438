import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'cancelled-although-an-attempt-is-unproven',
  what: 'A cancelled operation is called failed while a request of it may have taken effect, so a charge stands that is denied.',
  file: 'src/domain/policy.ts',
  find: `  if (proven.type !== 'without-effect') return null;
  if (history.cancelled) return 'cancelled';`,
  replace: `  if (history.cancelled && (proven.type === 'none' || proven.type === 'without-effect')) return 'cancelled';
  if (proven.type !== 'without-effect') return null;`,
};
