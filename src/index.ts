/** The public names of Sagacity, listed by hand. */

export type { StopSignal } from './adapters/local/signals.ts';
export { createOrchestrator, type CreateOptions } from './create-orchestrator.ts';
export { type AttemptContext, type LookupContext, operation, type Operation } from './define/operation.ts';
export { type Migration, migration, type MovedSaga, type SagaStanding } from './define/migration.ts';
export type { ProviderAccess } from './define/provider-access.ts';
export type { CodeOf, InputOf, OutputOf, Result, SubmittedOf } from './define/result.ts';
export { saga } from './define/saga.ts';
export type { CauseBy, SagaChain } from './define/saga-chain.ts';
export type { Saga, SagaCause, SagaCode } from './define/saga-flow.ts';
export type { SagaResult } from './define/saga-result.ts';
export { type Schema, typed } from './define/schema.ts';
export type { Rate, WorkLimit } from './define/work-limit.ts';
export type { Duration } from './domain/duration.ts';
export type { AttemptHttp, HttpReply, HttpRequest, LookupHttp } from './domain/http.ts';
export type { Limits } from './domain/limits.ts';
export type { CheckName, Checkup, CheckupFinding } from './domain/checkup.ts';
export { type ErrorCode, isSagacityError, SagacityError } from './domain/errors.ts';
export type { EscalationReason, LibraryCode, OperationState, StepCode } from './domain/operation-state.ts';
export {
  absent,
  failed,
  type Finding,
  found,
  inconclusive,
  notApplied,
  type Outcome,
  type Settling,
  type Succeeded,
  succeeded,
  unknown,
} from './domain/outcome.ts';
export type { SagaState } from './domain/saga-state.ts';
export { signal, type Signal } from './define/signal.ts';
export type { Instruction, StepDecision } from './orchestrator/command.ts';
export type { Cancelled, Decided, Decision, EffectDecided } from './orchestrator/decide.ts';
export type { Health } from './orchestrator/health.ts';
export type { ProviderLimit } from './orchestrator/provider-limit.ts';
export type { Doubt, EscalatedSaga } from './orchestrator/lists.ts';
export type { MigrationReport, NotMoved } from './orchestrator/migrate.ts';
export type {
  AnyOperation,
  AnySaga,
  Operator,
  Orchestrator,
  OrchestratorOptions,
  RunOf,
  SagaRunOf,
  SagaTarget,
  SubmitOptions,
} from './orchestrator/orchestrator.ts';
export type { HistoryRecord, Run, Submission } from './orchestrator/run.ts';
export type { SagaRun, StoryRecord } from './orchestrator/saga-run.ts';
export type { SignalEvent, SignalOptions, SignalQuestion, SignalStatus } from './orchestrator/signal.ts';
export type { VersionInFlight } from './orchestrator/versions.ts';
export type { Logger } from './ports/logger.ts';
export type { RecordKind, Store, Transaction } from './ports/store.ts';
export type { Waker } from './ports/waker.ts';
