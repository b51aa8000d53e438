import type { GuaranteeDefect } from '../guarantee.ts';

export const defect: GuaranteeDefect = {
  name: 'submitted-beside-the-transaction',
  what: 'A submission inside a transaction goes over a connection of the store, so it runs although the caller rolled back.',
  file: 'src/adapters/postgres/store.ts',
  find: '    within: (transaction) => within(transaction, { tables, ledger, clock, deadlineMs, channel }),',
  replace: `    within: async (transaction) => ({
      ...(await within(transaction, { tables, ledger, clock, deadlineMs, channel })),
      turn: async (turn) => (await applyTurns(turning, [turn], {})).get(turn.turn) ?? null,
    }),`,
  guarantee: 'G12',
  spec: 'test/spec/a-submission-commits-with-its-transaction.test.ts',
};
