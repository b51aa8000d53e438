import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'what-the-chart-was-told-not-remembered',
  what: 'That the chart was told of a success is forgotten, so after a crash later steps know nothing of what came before.',
  file: 'src/orchestrator/saga-turn.ts',
  find: '    if (isMade) this.#amend(id, { isTold: true });',
  replace: '    if (isMade) this.#amend(id, { isTold: actor.id === this.#now.saga.definition.pivotStep });',
};
