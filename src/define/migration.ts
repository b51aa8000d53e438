/**
 * `migration()`: how a saga that is under way in one version of its definition goes on in a later one. It guarantees that
 * the two belong together and that nothing runs here; the orchestrator that it is given to moves what fits, and leaves
 * the rest in its version.
 */

import { definitionInvalid } from '../domain/errors.ts';
import { hasType, isFunction } from './option-kinds.ts';
import { isSaga } from './saga.ts';
import type { Saga, SagaParts } from './saga-flow.ts';

/** Where a saga stands in the version that it is to leave. */
export interface SagaStanding<Input = unknown> {
  /** Of its chart: a name, or an object of those within it. */
  readonly state: string | object;
  readonly input: Input;
  /** What its steps have brought so far, by their names. */
  readonly outputs: Readonly<Record<string, unknown>>;
  /** What a hand-written machine remembers; undefined for a chain. */
  readonly context: unknown;
}

/** Where it is to stand in the version that it goes on in. */
export interface MovedSaga {
  /** A whole state of the new chart, and one that it rests in. */
  readonly state: string | object;
  /** Of a chain: what steps that it has left out would have brought. What was brought stands as it is. */
  readonly outputs?: Readonly<Record<string, unknown>>;
  /** Of a hand-written machine; left out, it remembers what it did. */
  readonly context?: unknown;
}

/** A migration, as {@link migration} makes it. */
export interface Migration {
  readonly type: 'migration';
  readonly from: SagaParts;
  readonly to: SagaParts;
  readonly move: (standing: SagaStanding<never>) => MovedSaga | null;
}

/** True for what {@link migration} returns. */
export function isMigration(value: unknown): value is Migration {
  return hasType(value, 'migration');
}

/**
 * Describes how sagas of the version `from` go on in `to`. `move` says where in the new chart one stands, from where it
 * stood, or null to leave it in its version for now. It is asked anew with each of the saga's turns, and may be asked
 * several times for one: it must not do anything.
 *
 * What has been done stays done: a step of the same name is the same operation, under the same key. One that is under
 * way must be what the new state waits for; one that has succeeded is told its output when the new chart comes to it.
 * A time that both wait for stays as it is, and so does the deadline, if the new version has one.
 *
 * Nothing is moved that is being taken back, has been ended by a person, or whose definition is at fault.
 *
 * @example
 * const checked = migration(orderV1, orderV2, ({ state }) => ({ state }));
 * const orchestrator = createOrchestrator({ store, definitions: [orderV2], migrations: [checked] });
 */
export function migration<const Name extends string, Input>(
  from: Saga<NoInfer<Name>, NoInfer<Input>, unknown, unknown, unknown>,
  to: Saga<Name, Input, unknown, unknown, unknown>,
  move: (standing: SagaStanding<Input>) => MovedSaga | null,
): Migration;
// Who moves them hands over what was stored; the static types have done their work at this call.
export function migration(from: unknown, to: unknown, move: Migration['move']): Migration {
  if (!isSaga(from) || !isSaga(to)) {
    throw definitionInvalid(
      `A migration leads ${isSaga(from) ? 'to' : 'from'} something that is no saga.`,
      'Write migration(older, newer, move) with what saga() returned for the two versions.',
    );
  }
  const facts = { saga: from.name, from: from.version, to: to.version };
  const called = `The migration of saga ${from.name} from version ${from.version}`;
  if (from.name !== to.name) {
    throw definitionInvalid(
      `${called} leads to saga ${to.name}, which is another one.`,
      'A saga keeps its name, which is part of every key: give the newer definition the same name and a higher version.',
      { ...facts, target: to.name },
    );
  }
  if (to.version <= from.version) {
    throw definitionInvalid(
      `${called} leads to version ${to.version}, which is not newer.`,
      'Write migration(older, newer, move); to go back, give the older steps the next version.',
      facts,
    );
  }
  if (!isFunction(move)) {
    throw definitionInvalid(`${called} has no move.`, 'Write ({ state, outputs }) => ({ state }), or null.', facts);
  }
  return Object.freeze({ type: 'migration', from, to, move });
}
