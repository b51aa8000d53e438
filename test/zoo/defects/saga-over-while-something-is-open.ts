import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'saga-over-while-something-is-open',
  what: 'A saga says that it is over while a request of it is still on its way, and nobody looks at what comes of it.',
  file: 'src/orchestrator/saga-turn.ts',
  find: '    const isUnsettled = ledger.some(({ state }) => !isSettled(state));',
  replace: '    const isUnsettled = ledger.every(({ state }) => !isSettled(state));',
};
