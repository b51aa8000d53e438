import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'locked-out-and-tried-at-once',
  what: 'Whose credentials are not accepted tries again as soon as after any other error, and uses up its attempts.',
  file: 'src/providers/sender.ts',
  find: "      return { type: 'not-applied', reason, longestPause: true, ...pause };",
  replace: "      return { type: 'not-applied', reason, ...pause };",
};
