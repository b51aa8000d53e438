import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'lost-start-never-reckoned-with',
  what: 'After a fail-over that lost commits an operation is sent as though it had never been, and charged twice.',
  file: 'src/domain/policy.ts',
  find: 'return lostStartOn !== null && history.attempts.every(({ assumedOn }) => assumedOn !== lostStartOn);',
  replace: 'return lostStartOn !== null && history.attempts.length > 1_000;',
};
