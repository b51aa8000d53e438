import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'what-has-to-be-asked-first-sent-again-unasked',
  what: 'What a provider forgets over an error is sent again under its key without asking, so that what it had done is done twice.',
  file: 'src/domain/policy.ts',
  find: "  return attempts.some(({ standing, askFirst }) => standing === 'unproven' && askFirst === true);",
  replace: '  return attempts.some(({ askFirst }) => askFirst === undefined && askFirst === true);',
};
