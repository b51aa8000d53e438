import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'window-without-the-limit-of-arrival',
  what: 'The window of a key does not reckon with how late a request can arrive, so one of two takes effect when the key of the other is forgotten.',
  file: 'src/domain/policy.ts',
  find: 'return policy.sendWithinMs + policy.timeoutMs + arrivalLimitMs(policy);',
  replace: 'return policy.sendWithinMs + policy.timeoutMs;',
};
