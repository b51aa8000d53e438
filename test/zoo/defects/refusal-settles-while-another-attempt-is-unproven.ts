import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'refusal-settles-while-another-attempt-is-unproven',
  what: 'A second send that is refused settles the first one whose reply was lost, so a charge stands that is called failed.',
  file: 'src/domain/attempt.ts',
  find: "  if (history.attempts.some(({ standing }) => standing === 'open' || standing === 'unproven')) return { type: 'none' };",
  replace: `  const last = history.attempts.at(-1)?.standing;
  const doubtful = history.attempts.some(({ standing }) => standing === 'open' || standing === 'unproven');
  if (last !== 'refused' && doubtful) return { type: 'none' };`,
};
