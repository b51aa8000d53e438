/** A store some of whose members are other ones, for who watches, delays or loses what goes by. */

import type { Store } from '../ports/store.ts';

/** The same store with these members in place of its own, or beside them. */
export function overlay<Members extends object>(store: Store, members: Partial<Store> & Members): Store & Members {
  // A prototype keeps every other verb, whatever the store is made of.
  return Object.assign(Object.create(store) as Store, members);
}
