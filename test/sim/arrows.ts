/**
 * The arrows of the operation's chart, read from the chart itself, each under a name by which a written turn can be
 * recognised: where from, what happened, where to, and for an escalation why, as far as the arrow says so itself.
 */

import { operationMachine } from '../../machines/operation.ts';

/** What happened, by the kind of the record that a turn leaves. */
const happenings: Readonly<Record<string, string>> = {
  due: 'due',
  'xstate.done.actor.attempt': 'end',
  'xstate.done.actor.lookup': 'lookup',
  'evidence.received': 'evidence',
  'verdict.given': 'verdict',
  'lookup.requested': 'verdict',
  'cancel.requested': 'cancel',
  'join.requested': 'join',
  'compensation.begun': 'taking back',
  'compensation.succeeded': 'taken back',
  'compensation.refused': 'not taken back',
  'compensation.faulted': 'at fault',
  'compensation.givenUp': 'given up',
  'effect.takenBack': 'verdict',
  'effect.leftStanding': 'verdict',
  '': 'always',
};

/** How what happened is named in arrows. */
export function happeningOf(event: string): string {
  return happenings[event] ?? event;
}

/** The orchestrator reports what an executor or a look-up threw as an outcome that is unknown, and never as an error. */
const neverReported = new Set(['xstate.error.actor.attempt', 'xstate.error.actor.lookup']);

/**
 * Two effects are shown by word of a second one, and what has one already does not wait to be sent: it was adopted, or
 * is being looked up, or is with a person. The arrow is there so that the chart asks the same questions everywhere.
 */
const neverTaken = new Set([
  'pending --evidence--> escalated (two-effects)',
  // What waits to be sent has an attempt left, so that a word about an earlier one does not exhaust it.
  'pending --evidence--> escalated (inverse-failed)',
]);

/** Every arrow of the chart that the orchestrator can take. */
export function arrowsOfChart(): readonly string[] {
  const arrows = new Set<string>();
  for (const state of Object.values(operationMachine.states)) {
    const byEvent = [...state.transitions, ['', state.always ?? []] as const];
    for (const [event, transitions] of byEvent) {
      if (neverReported.has(event)) continue;
      for (const transition of transitions) {
        const [target] = transition.target ?? [];
        const happening = happenings[event];
        if (happening === undefined) throw new Error(`The chart takes ${event}, which no record is known to tell.`);
        const arrow = arrowOf(state.key, happening, target?.key ?? state.key, reasonIn(transition.actions));
        if (!neverTaken.has(arrow)) arrows.add(arrow);
      }
    }
  }
  return [...arrows].toSorted();
}

/** How an arrow is named. `reason`: an escalation that says itself why. */
export function arrowOf(from: string, happening: string, to: string, reason: string | null): string {
  return `${from} --${happening}--> ${to}${reason === null ? '' : ` (${reason})`}`;
}

/** The reason that an arrow's own `escalate` gives; null where it has none, or leaves it to the policy. */
function reasonIn(actions: readonly unknown[]): string | null {
  for (const action of actions) {
    if (typeof action !== 'object' || action === null || !('type' in action) || action.type !== 'escalate') continue;
    if (!('params' in action) || typeof action.params !== 'object' || action.params === null) continue;
    if ('reason' in action.params && typeof action.params.reason === 'string') return action.params.reason;
  }
  return null;
}
