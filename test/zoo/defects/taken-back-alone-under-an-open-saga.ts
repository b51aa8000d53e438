import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'taken-back-alone-under-an-open-saga',
  what: 'An operation alone is taken back at a person’s word while a saga that has joined it is open.',
  file: 'src/orchestrator/advance.ts',
  find: "return refused(row, `sagas that have joined it are not settled: ${open.join(', ')}`);",
  replace: "return taken(step(kernel, row, { type: 'compensation.begun', unsettledJoiners: 0 }));",
};
