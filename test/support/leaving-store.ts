/** A store that can be away for a while, as a database is that is known not to answer. */

import { storeUnavailable } from '../../src/domain/errors.ts';
import type { Store } from '../../src/ports/store.ts';

export interface LeavingStore {
  readonly store: Store;
  /** While it is, every verb is refused at once. */
  away: boolean;
}

export function leaving(store: Store): LeavingStore {
  const state = {
    away: false,
    store: new Proxy(store, {
      get(target, name: keyof Store) {
        const verb = target[name];
        if (typeof verb !== 'function') return verb;
        return (...args: never[]) => {
          if (state.away) return Promise.reject(storeUnavailable('The database is away.', 'Call again.'));
          // Each verb takes what the port says, and is given what it was called with.
          return (verb as (...given: never[]) => unknown).apply(target, args);
        };
      },
    }),
  };
  return state;
}
