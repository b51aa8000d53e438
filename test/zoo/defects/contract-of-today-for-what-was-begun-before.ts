import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'contract-of-today-for-what-was-begun-before',
  what: 'What was begun under one contract is sent by the one that the process has, with the key elsewhere.',
  file: 'src/orchestrator/perform.ts',
  find: '  return { ...attempting, tenant: ref.tenant, action, provider, signal: abort.signal };',
  replace:
    '  const { contract } = definition.policy;\n  return { ...attempting, contract, tenant: ref.tenant, action, provider, signal: abort.signal };',
};
