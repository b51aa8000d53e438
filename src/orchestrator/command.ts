/**
 * What people and other parts of a service say to a saga: cancel it, terminate it, take it back, decide about a step.
 * Each is handed over like any other word; only the owner's turn applies or refuses it, and tells which.
 */

import type { Duration } from '../domain/duration.ts';
import { encode } from '../domain/codec.ts';
import {
  definitionInvalid,
  definitionMissing,
  isSagacityError,
  resolutionRefused,
  sagaNotFound,
} from '../domain/errors.ts';
import { refuseTooLong } from '../domain/limits.ts';
import type { NotApplied, Succeeded } from '../domain/outcome.ts';
import { isSagaSettled } from '../domain/saga-state.ts';
import { assertKeyText, KEY_LENGTH_MAX, TENANT_LENGTH_MAX } from '../domain/text.ts';
import type { OperationRef, OperationRow, SagaRow, Store } from '../ports/store.ts';
import { addressed, type Member } from './aggregate.ts';
import { inverseOf, memberOf } from './alone.ts';
import {
  type Cancelled,
  cancelledBy,
  type Decided,
  decidedBy,
  type Deciding,
  handOverAndWait,
  refuseNameless,
} from './decide.ts';
import { contextOf, fromStored } from './row.ts';
import { existing } from './run.ts';

/** Who says it, and why. Kept for good. */
export interface Instruction {
  readonly by: string;
  readonly reason: string;
  /** How long to wait for it to be applied. Default `'10s'`. */
  readonly within?: Duration;
}

type Commanding = Omit<Deciding, 'definitions'>;

/** The stored saga. Rejects with INPUT_INVALID for what can name none, and with SAGA_NOT_FOUND. */
export async function existingSaga(store: Store, ref: OperationRef): Promise<SagaRow> {
  assertKeyText('tenant', ref.tenant, TENANT_LENGTH_MAX);
  assertKeyText('saga id', ref.id, KEY_LENGTH_MAX);
  const row = await store.readSaga(ref);
  if (row === null) throw sagaNotFound(ref.tenant, ref.id);
  return row;
}

/** Asks for a saga to be given up: what has succeeded is taken back. Success of its pivot, or of all of it, wins. */
export async function cancelSaga(
  commanding: Commanding,
  ref: OperationRef,
  instruction: Instruction,
): Promise<Cancelled> {
  const answer = await say(commanding, ref, 'cancel', instruction);
  return cancelledBy(answer);
}

/** Ends a saga as it stands: nothing more is sent, no inverse either. What was sent is still found out. */
export function terminateSaga(commanding: Commanding, ref: OperationRef, instruction: Instruction): Promise<Decided> {
  return decided(commanding, ref, 'terminate', instruction);
}

/** Takes back what a settled saga did, as far as there are inverses. */
export function compensateSaga(commanding: Commanding, ref: OperationRef, instruction: Instruction): Promise<Decided> {
  return decided(commanding, ref, 'compensate', instruction);
}

/**
 * Takes back what an operation that stands alone did, by its inverse. Rejects with DEFINITION_INVALID, and nothing is
 * written, when the inverse could not be begun.
 */
export async function compensateOperation(
  deciding: Deciding,
  ref: OperationRef,
  { by, reason, within }: Instruction,
): Promise<Decided> {
  refuseNameless(by, 'by');
  refuseNameless(reason, 'reason');
  const { store, definitions } = deciding;
  const row = await existing(store, ref);
  const { saga, action, tenant } = row;
  if (saga !== null) {
    throw resolutionRefused(ref.id, `it belongs to saga ${saga}, and a step is not taken back by itself.`, { saga });
  }
  const definition = definitions.get(action);
  if (definition === undefined) throw definitionMissing(action);
  if (definition.compensate === null || !('operation' in definition.compensate)) {
    throw resolutionRefused(ref.id, `${action} declares no inverse.`, { action });
  }
  if (isToBeTakenBack(row)) await refuseFaultyInverse(store, memberOf(row, definitions));
  const settledJoiners: string[] = [];
  for (const id of contextOf(fromStored(row)).joined) {
    const joiner = await store.readSaga({ tenant, id });
    if (joiner === null || isSagaSettled(joiner.state)) settledJoiners.push(id);
  }
  const said = { kind: 'compensate-operation', by, reason, settledJoiners } as const;
  const answer = await handOverAndWait(deciding, { ...addressed(row, said), about: ref }, within);
  return decidedBy(ref, answer);
}

/** The word will be heeded: it has succeeded, or is to be taken back and its inverse could not be begun. */
function isToBeTakenBack({ state, reason }: OperationRow): boolean {
  return state === 'succeeded' || (state === 'escalated' && reason === 'definition-fault');
}

/** What an inverse would be given that is not there yet is made and thrown away: the turn that begins it makes it again. */
async function refuseFaultyInverse(store: Store, member: Member): Promise<void> {
  const { ref, definition, birth } = inverseOf(member);
  if ((await store.read(ref)) !== null) return;
  try {
    birth();
  } catch (error) {
    const { action } = member.definition;
    const inverse = definition.action;
    // What the author's code throws may tell parameters; it is the cause, and no part of the message.
    const why = isSagacityError(error) ? error.message : 'compensate.input threw, or its schema did.';
    throw definitionInvalid(
      `Operation ${member.ref.id} cannot be taken back, since its inverse ${inverse} cannot be given its input: ${why}`,
      `Nothing was changed. Repair compensate.input of ${action}, or the input of ${inverse}, and command it again.`,
      { id: member.ref.id, action, inverse },
      error,
    );
  }
}

async function decided(
  commanding: Commanding,
  ref: OperationRef,
  kind: 'terminate' | 'compensate',
  instruction: Instruction,
): Promise<Decided> {
  const answer = await say(commanding, ref, kind, instruction);
  return decidedBy(ref, answer);
}

async function say(
  commanding: Commanding,
  ref: OperationRef,
  kind: 'cancel' | 'terminate' | 'compensate',
  instruction: Instruction,
) {
  const { by, reason, within } = instruction;
  refuseNameless(by, 'by');
  refuseNameless(reason, 'reason');
  await existingSaga(commanding.store, ref);
  return await handOverAndWait(commanding, { to: ref, about: ref, said: { kind, by, reason } }, within);
}

/** On what ground a person decides about a step. */
export interface StepDecision extends Omit<Instruction, 'reason'> {
  /** What the decision rests on. Kept for good. */
  readonly evidence: string;
  /** Which step it is about, such as `parcels[2]` of a list; needed where several can be refused at the same time. */
  readonly step?: string;
}

/** Decides about a saga that is escalated because a step after its pivot was refused. Rejects with RESOLUTION_REFUSED. */
export async function resolveSaga(
  commanding: Commanding,
  ref: OperationRef,
  outcome: Succeeded<unknown> | NotApplied,
  { by, evidence, step, within }: StepDecision,
): Promise<Decided> {
  refuseNameless(by, 'by');
  refuseNameless(evidence, 'evidence');
  const said = { kind: 'step-verdict', outcome, by, evidence, ...(step === undefined ? {} : { step }) } as const;
  const decision = encode(said, { onUnsupported: 'refuse', rootName: 'decision' });
  refuseTooLong('What was decided', decision, commanding.limits);
  await existingSaga(commanding.store, ref);
  const answer = await handOverAndWait(commanding, { to: ref, about: ref, said }, within);
  return decidedBy(ref, answer);
}
