/**
 * What persons may do: ask for an operation to be given up, and decide one that waits for them. They decide truly, by
 * the provider's books and when nothing is on its way any more; that a person errs, no library can heal.
 */

import { isSettled } from '../../../src/domain/operation-state.ts';
import { seenOf } from '../../../src/orchestrator/handover.ts';
import { extra, type Found } from './found.ts';
import { canStillTakeEffect } from './provider.ts';
import { handsOver, proves, type Surroundings } from './worker.ts';
import { disturbed, type World } from './world.ts';

export function personSteps(around: Surroundings, world: World, found: Found): void {
  const { operation } = world.store;
  if (operation === null || isSettled(operation.state)) return;
  const asked = disturbed(world, 'cancels');
  if (asked !== null) {
    const after = handsOver(asked, 'cancel', { kind: 'cancel', by: 'the shop', reason: 'not wanted any more' });
    found.add('The shop asks for it to be given up', after, extra);
  }
  const less = disturbed(world, 'verdicts');
  if (operation.state !== 'escalated' || less === null) return;
  const says = (outcome: Said) =>
    found.add(`A person decides: ${outcome.type}`, decided(less, seenOf(operation), outcome), extra);
  if (world.provider.effects.length > 0) says(proves.done);
  const mayCome = world.requests.some((one) => one.side === 'ready' || canStillTakeEffect(around.policy, world, one));
  if (world.provider.effects.length === 0 && !mayCome) {
    says(proves.declined);
    // Also against a refusal that is in the books: it is a reason to try once more.
    says(proves.busy);
  }
  says({ type: 'look-up' });
}

type Said = typeof proves.done | typeof proves.declined | typeof proves.busy | { readonly type: 'look-up' };

function decided(world: World, seen: string, outcome: Said): World {
  return handsOver(world, `verdict ${outcome.type}`, {
    kind: 'verdict',
    outcome,
    by: 'the operator',
    evidence: "the provider's books",
    seen,
  });
}
