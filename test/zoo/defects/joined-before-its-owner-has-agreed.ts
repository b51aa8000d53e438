import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'joined-before-its-owner-has-agreed',
  what: 'A saga takes what another one has for its own success before that one knows of it, and may take it back.',
  file: 'src/orchestrator/saga-turn.ts',
  find: '} else if (!joined.includes(this.#now.ref.id)) {',
  replace: "} else if (row.state !== 'succeeded' && !joined.includes(this.#now.ref.id)) {",
};
