/**
 * A store as a process sees it that dies around one of its writes: the n-th is made or not, and from then on no call
 * gets through and none is answered. What was written stays, for whoever comes next.
 */

import type { Store } from '../../src/ports/store.ts';

export interface Death {
  /** `after`: the write is made, and nobody hears of it. `before`: it is not made any more. */
  readonly side: 'before' | 'after';
  readonly write: number;
}

export interface MortalStore extends Store {
  /** How many writes have been made. */
  readonly writes: number;
  readonly isDead: boolean;
}

/** The verbs that write; a claim writes where it claims something. */
const writing: readonly (string | symbol)[] = ['turn', 'sagaTurn', 'handOver', 'signal', 'claim', 'claimSagas'];

export function mortal(store: Store, death: Death | null): MortalStore {
  let writes = 0;
  let isDead = false;
  const silence = () => new Promise<never>(() => {});
  const through = async (verb: string | symbol, call: () => Promise<unknown>) => {
    if (isDead) return silence();
    if (!writing.includes(verb)) return await call();
    if (death?.side === 'before' && writes + 1 === death.write && !isClaim(verb)) {
      isDead = true;
      return silence();
    }
    const answer = await call();
    if (isClaim(verb) && Array.isArray(answer) && answer.length === 0) return answer;
    writes += 1;
    // Whether a claim writes shows only once it has: then before it is after it.
    if (writes === death?.write && (death.side === 'after' || isClaim(verb))) isDead = true;
    return isDead ? silence() : answer;
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === 'writes') return writes;
      if (name === 'isDead') return isDead;
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]) => through(name, () => Reflect.apply(member, target, given) as Promise<unknown>);
    },
  }) as MortalStore;
}

function isClaim(verb: string | symbol): boolean {
  return verb === 'claim' || verb === 'claimSagas';
}
