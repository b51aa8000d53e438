/** What must hold in every state, and from one state to the next. */

import { isSettled } from '../../../src/domain/operation-state.ts';
import type { Policy } from '../../../src/domain/policy.ts';
import { canStillTakeEffect } from './provider.ts';
import { refusesAnother, type Surroundings } from './worker.ts';
import type { World } from './world.ts';

/** What is wrong with this state, or null. */
export function wrongWith(around: Surroundings, world: World): string | null {
  const { operation } = world.store;
  if (operation === null) return null;
  const { policy } = around;
  if (world.provider.effects.length > 1) return 'two effects of one operation';
  const happened = world.provider.effects.length > 0;
  if (operation.state === 'succeeded' && !happened) return 'succeeded without an effect';
  if (operation.state === 'failed' && happened) return 'failed although it took effect';
  if (operation.state === 'failed' && mayStillHappen(policy, world)) {
    return 'failed while a request is on its way that can still take effect';
  }
  if (!hasNextStep(world)) return 'an unsettled operation without a next step';
  if (areTwoExecutors(world)) return 'two executors of one generation';
  // What is refused depends on the identity only; it is tried in the first world with each position.
  const position = around.decisions.positions.at(operation);
  if (position === null || around.tried.has(position)) return null;
  around.tried.add(position);
  return refusesAnother(around, world) ? null : 'a second submission created a second operation';
}

function mayStillHappen(policy: Policy, world: World): boolean {
  return world.requests.some((request) => canStillTakeEffect(policy, world, request));
}

function hasNextStep({ store: { operation, handovers } }: World): boolean {
  if (operation === null || isSettled(operation.state) || operation.state === 'escalated') return true;
  return operation.owner !== null || operation.dueAt !== null || handovers.size > 0;
}

function areTwoExecutors({ store: { operation }, slots, requests }: World): boolean {
  const holders = slots.filter(
    ({ held }) => held !== null && held.worker === operation?.owner && held.generation === operation.generation,
  );
  const executing = requests.filter(
    ({ side, isHeld, slot }) => isHeld && side !== 'given-up' && slots[slot].held?.generation === operation?.generation,
  );
  return holders.length > 1 || executing.length > 1;
}

/** What is wrong with going from one state to the other, or null. */
export function wrongWithStep(before: World, after: World): string | null {
  const [was, is] = [before.store.operation, after.store.operation];
  if (was === null) return null;
  if (is === null) return 'an operation is gone';
  if (isSettled(was.state) && was.state !== is.state) return `${was.state} became ${is.state}`;
  if (is.generation < was.generation) return 'a write of an older generation was accepted';
  return null;
}
