import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'late-result-dropped',
  what: 'What a provider answers after the time-out is thrown away, so a person is asked what the reply had already said.',
  file: 'src/orchestrator/driver.ts',
  find: '        late: (result) => this.#late(held, id, number, result),',
  replace: '        late: () => {},',
};
