import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'settled-operation-born-again',
  what: 'A submission of what has settled replaces it, so the same order is charged again instead of replayed.',
  file: 'src/adapters/memory/rows.ts',
  find: `  if (birth === null || rows.operations.has(keyOf(turn))) return null;
  if (rows.identities.has(identityName({ ...birth, tenant: turn.tenant }))) return null;`,
  replace: `  if (birth === null) return null;
  const known = findByIdentity(rows, { ...birth, tenant: turn.tenant });
  if (known !== undefined && !isSettled(known.state)) return null;`,
};
