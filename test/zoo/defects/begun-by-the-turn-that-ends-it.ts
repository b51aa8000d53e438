import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'begun-by-the-turn-that-ends-it',
  what: 'A saga that hears at once of what lets it go on and of its end sends the next step, though it was ended as it stood.',
  file: 'src/orchestrator/saga-turn.ts',
  find: "    if (ofSaga.some(([, said]) => said?.kind === 'terminate' || said?.kind === 'cancel')) this.#hand = emptyHand;\n",
  replace: '',
};
