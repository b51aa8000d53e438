/** The statements that an orchestrator brings about by its work, for who loses each of them. Those of sagas come with them. */

import { type StatementName, statementNames } from '../../src/adapters/postgres/executor.ts';

const ofSagas = [
  'saga-turn',
  'claim-sagas-due',
  'claim-saga',
  'read-saga',
  'read-saga-by-identity',
  'saga-records',
] as const satisfies readonly StatementName[];

export type SentStatement = Exclude<(typeof statementNames)[number], (typeof ofSagas)[number]>;

export const sentStatements: readonly SentStatement[] = statementNames.filter(
  (name): name is SentStatement => !ofSagas.some((ofSaga) => ofSaga === name),
);
