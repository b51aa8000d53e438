import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'new-key-per-attempt',
  what: 'Every further attempt has a key of its own, so the provider charges for each.',
  file: 'src/orchestrator/driver.ts',
  find: `        idempotencyKey,
        contract,
        firstSentAt`,
  replace: `        idempotencyKey: number === 1 ? idempotencyKey : \`\${idempotencyKey}-\${number}\`,
        contract,
        firstSentAt`,
};
