/** What a team needs to test its own operations against a company that lies, and its own adapters against the ports. */

import './ports/copies.ts';

export { memoryStore } from './adapters/memory/store.ts';
export type {
  Birth,
  DoubtQuery,
  Due,
  EscalatedQuery,
  EscalatedSagaRow,
  Fence,
  Handover,
  HeldLock,
  Identity,
  InFlightQuery,
  NewRecord,
  NewSignal,
  OperationChange,
  OperationReceipt,
  OperationRef,
  OperationRow,
  Receipt,
  RecordKind,
  SagaBirth,
  SagaForm,
  SagaIdentity,
  SagaReceipt,
  SagaRecord,
  SagaRow,
  SagaTurn,
  SagaVersion,
  SagaVersionRow,
  ServedSaga,
  SettledQuery,
  SignalChange,
  SignalRef,
  SignalRow,
  SignalState,
  Start,
  StoredRecord,
  StoreInTransaction,
  Timeline,
  Turn,
  Turns,
  VersionQuery,
} from './ports/store.ts';
export type { CancelTimer, Clock } from './ports/clock.ts';
export type { Random } from './ports/random.ts';
export type { News, Told, Wake } from './ports/waker.ts';
export type { Call, Caller } from './ports/caller.ts';
export { boundariesOf, type Flow, killAt, type Killed } from './testing/kill-at.ts';
export {
  callerWithKillPoints,
  type Durable,
  type Hint,
  type KillPoint,
  killPoints,
  type Reached,
  type Side,
  wakerWithKillPoints,
  withKillPoints,
} from './testing/kill-points.ts';
export { contractFindings, contractSuite, type ContractTestApi } from './testing/contract-suite.ts';
export type { ContractFinding } from './testing/contract/checks.ts';
export {
  contractProvider,
  type ContractProvider,
  type ContractProviderOptions,
  type ContractRecord,
} from './testing/contract/contract-provider.ts';
export type { ContractEndpoint, EndpointReply, EndpointRequest } from './testing/contract/endpoint.ts';
export { type ContractLie, contractLies } from './testing/contract/lies.ts';
export { providerEndpoint } from './testing/contract/provider-endpoint.ts';
export { testClock, type TestClock } from './testing/clock.ts';
export type { Filter, Filtered, Target } from './testing/fault-proxy/connection.ts';
export { faultProxy, type FaultProxy } from './testing/fault-proxy/fault-proxy.ts';
export type { Direction } from './testing/fault-proxy/faults.ts';
export {
  type PostgresFault,
  postgresFaults,
  type PostgresFaults,
  type PostgresRule,
} from './testing/fault-proxy/postgres-faults.ts';
export {
  privateNats,
  privateNatsCluster,
  type PrivateNats,
  type PrivateNatsOptions,
} from './testing/private-nats/private-nats.ts';
export {
  privatePostgres,
  type PrivatePostgres,
  type PrivatePostgresOptions,
} from './testing/private-postgres/private-postgres.ts';
export {
  type CallModeName,
  type LogEntry,
  type LookupModeName,
  providerAt,
  type ProviderClient,
  type ProviderRecord,
  type ReceivedRequest,
  scriptedProvider,
  type ScriptedProvider,
  spawnProvider,
} from './testing/provider/index.ts';
export { storeSuite } from './testing/store-suite.ts';
export { wakerSuite, type WakersUnderTest } from './testing/waker-suite.ts';
export { reply, type ScriptLine } from './testing/script.ts';
export type { AnyRun } from './testing/settle.ts';
export { testOrchestrator, type TestOptions, type TestOrchestrator } from './testing/test-orchestrator.ts';
export { testFetch, testProvider, type TestProvider, type TestRecord } from './testing/test-provider.ts';
