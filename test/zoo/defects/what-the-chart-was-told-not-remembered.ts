import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'what-the-chart-was-told-not-remembered',
  what: 'That the chart was told of a success is forgotten, so after a crash later steps know nothing of what came before.',
  file: 'src/orchestrator/saga-turn.ts',
  find: `      this.#amend(entry.id, { isTold: true });
      if (step.step ===`,
  replace: `      this.#amend(entry.id, { isTold: step.step === this.#now.saga.definition.pivotStep });
      if (step.step ===`,
};
