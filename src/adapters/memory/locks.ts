/** What sagas hold of what they share with others, in memory: all that a saga names, or nothing, until it settles. */

import { isSagaSettled } from '../../domain/saga-state.ts';
import type { HeldLock, SagaTurn } from '../../ports/store.ts';
import type { Rows } from './rows.ts';

export function mayLock({ locks }: Rows, { tenant, id, birth }: SagaTurn): boolean {
  const wanted = birth?.locks ?? [];
  return wanted.every((resource) => (locks.get(lockName(tenant, resource)) ?? id) === id);
}

/** What a turn that is written makes of the locks of its saga. */
export function keepLocks({ locks }: Rows, { tenant, id, birth, state }: SagaTurn): void {
  if (isSagaSettled(state)) {
    const own = [...locks].filter(([name, saga]) => saga === id && isOf(tenant, name));
    for (const [name] of own) locks.delete(name);
    return;
  }
  for (const resource of birth?.locks ?? []) locks.set(lockName(tenant, resource), id);
}

export function heldLocks({ locks }: Rows, tenant: string, resources: readonly string[]): HeldLock[] {
  return resources.flatMap((resource) => {
    const saga = locks.get(lockName(tenant, resource));
    return saga === undefined ? [] : [{ resource, saga }];
  });
}

function lockName(tenant: string, resource: string): string {
  return JSON.stringify([tenant, resource]);
}

function isOf(tenant: string, name: string): boolean {
  return name.startsWith(JSON.stringify([tenant]).slice(0, -1) + ',');
}
