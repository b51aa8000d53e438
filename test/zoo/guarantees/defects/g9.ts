import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  name: 'taken-back-in-the-order-of-beginning',
  what: 'What was begun last is taken back first, although it was not the last to be achieved.',
  file: 'src/orchestrator/saga-compensation.ts',
  find: '.toSorted((a, b) => (b.entry.settledAs ?? 0) - (a.entry.settledAs ?? 0))',
  replace: '.toSorted((a, b) => ledger.indexOf(b) - ledger.indexOf(a))',
  guarantee: 'G9',
  spec: 'test/spec/compensation-is-real.test.ts',
};
