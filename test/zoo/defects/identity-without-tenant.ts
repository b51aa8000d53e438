import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'identity-without-tenant',
  what: 'One tenant’s order number is taken by another’s, who joins an operation that is not theirs and is never charged.',
  file: 'src/adapters/memory/rows.ts',
  find: `function identityName({ tenant, action, key }: Identity): string {
  return JSON.stringify([tenant, action, key]);`,
  replace: `function identityName({ action, key }: Identity): string {
  return JSON.stringify([action, key]);`,
};
