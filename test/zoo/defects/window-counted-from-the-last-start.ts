import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'window-counted-from-the-last-start',
  what: 'Each attempt is thought to renew the provider’s memory of the key, so one is sent after the provider has forgotten it.',
  file: 'src/adapters/memory/rows.ts',
  find: 'return windowEndsAt ?? firstStartedAt + retentionMs - marginMs;',
  replace: 'return now + retentionMs - marginMs;',
};
