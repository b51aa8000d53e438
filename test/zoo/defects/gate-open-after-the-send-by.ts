import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'gate-open-after-the-send-by',
  what: 'A request that waited for its connection leaves whenever that comes, also once its time to be sent has passed.',
  file: 'src/providers/sender.ts',
  find: '    const why = this.#shut ?? this.#sending.mayLeave();',
  replace: '    const why = this.#shut;',
};
