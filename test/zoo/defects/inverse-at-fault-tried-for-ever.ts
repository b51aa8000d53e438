import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'inverse-at-fault-tried-for-ever',
  what: 'An operation alone whose inverse cannot be given its input is tried again for ever, and nobody is told.',
  file: 'src/orchestrator/alone.ts',
  find: '      const why = { action: definition.action, inverse: ref.id, fault: faultOf(error) };\n',
  replace:
    "      if (stateOf(this.#member.row) === 'compensating') throw error;\n      const why = { action: definition.action, inverse: ref.id, fault: faultOf(error) };\n",
};
