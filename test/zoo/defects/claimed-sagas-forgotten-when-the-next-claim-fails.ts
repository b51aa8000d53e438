import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'claimed-sagas-forgotten-when-the-next-claim-fails',
  what: 'Sagas are claimed and not taken up when the claim after theirs fails, and nothing ever happens to them.',
  file: 'src/orchestrator/orchestrator.ts',
  find: `      const ofSagas = served.length === 0 ? [] : takenUp(await store.claimSagas(claimant, served, limit, only));
      if (ofSagas.length === limit || actions.length === 0) return ofSagas;
      return [...ofSagas, ...takenUp(await store.claim(claimant, actions, limit - ofSagas.length, only))];
`,
  replace: `      const ofSagas = served.length === 0 ? [] : await store.claimSagas(claimant, served, limit, only);
      if (ofSagas.length === limit || actions.length === 0) return takenUp(ofSagas);
      const alone = await store.claim(claimant, actions, limit - ofSagas.length, only);
      return takenUp([...ofSagas, ...alone]);
`,
};
