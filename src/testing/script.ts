/**
 * What a test has happen to attempts on their way: a lost reply, a lost request, an answer that the provider never gave.
 * Each line is for one attempt of one operation, wherever in a saga that is; when there is none left, executors are
 * called as they are.
 */

import type { Outcome } from '../domain/outcome.ts';
import type { AnyOperation } from '../orchestrator/orchestrator.ts';
import { refuseUnregistered, type Registry } from '../orchestrator/runnable.ts';
import type { Caller } from '../ports/caller.ts';

/** One line of a script, made by {@link reply}. */
export interface ScriptLine {
  readonly operation: AnyOperation;
  readonly says: 'lost' | 'request-lost' | Outcome;
}

/**
 * What the next attempt of this operation that has no line yet meets. `'lost'`: the executor runs, and what it returns
 * is thrown away; the outcome is unknown. `'request-lost'`: the executor does not run, and the outcome is unknown. An
 * outcome is answered instead of running the executor; one that settles is answered again if the same operation is
 * attempted again, as a company does that has made up its mind.
 *
 * @example
 * const script = [reply(chargeCard, 'lost'), reply(createShipment, failed('address_refused'))];
 */
export function reply<Definition extends AnyOperation>(
  operation: Definition,
  says:
    | 'lost'
    | 'request-lost'
    | Outcome<NonNullable<Definition['~types']>['output'], NonNullable<Definition['~types']>['code']>,
): ScriptLine {
  return { operation, says };
}

export interface Script {
  readonly caller: Caller;
  /** Lines that no attempt has met yet. */
  left(): readonly ScriptLine[];
}

/** Throws DEFINITION_MISSING for a line about an operation that is nowhere in the definitions. */
export function scripted(lines: readonly ScriptLine[], { operations }: Pick<Registry, 'operations'>): Script {
  for (const { operation } of lines) assertRegistered(operation, operation.action, operations);
  const left = [...lines];
  const decided = new Map<string, Outcome>();
  const take = (action: string) => {
    const at = left.findIndex(({ operation }) => operation.action === action);
    return at === -1 ? null : (left.splice(at, 1)[0]?.says ?? null);
  };
  return {
    left: () => left,
    async caller({ kind, action, operationId }, go) {
      if (kind === 'question') return await go();
      const said = decided.get(operationId) ?? take(action);
      if (said === null) return await go();
      if (said === 'request-lost') throw new Error('The request was lost.');
      if (said === 'lost') return await lost(go);
      if (said.type === 'succeeded' || said.type === 'failed') decided.set(operationId, said);
      return said;
    },
  };
}

async function lost(go: () => unknown): Promise<never> {
  try {
    await go();
  } catch {
    // Whatever it was, nobody hears of it.
  }
  throw new Error('The reply was lost.');
}

/** Throws DEFINITION_MISSING for an operation that is not the one that is known under its action, or for none. */
export function assertRegistered(
  operation: AnyOperation | undefined,
  action: string,
  operations: Registry['operations'],
): void {
  refuseUnregistered(action, operation, operations.get(action));
}
