import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'key-made-anew-by-who-takes-over',
  what: 'Who takes up what a dead worker had sent makes another key for it, so the provider finds nothing and does it twice.',
  file: 'src/orchestrator/alone.ts',
  find: '  const { tenant, id, saga, key, providerKey: idempotencyKey, input, createdAt, sendBy, windowEndsAt } = row;',
  replace: `  const { tenant, id, saga, key, input, createdAt, sendBy, windowEndsAt } = row;
  const idempotencyKey = row.state === 'in-progress' ? \`\${row.providerKey}-again\` : row.providerKey;`,
};
