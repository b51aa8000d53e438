/**
 * The sender that speaks HTTP: the managed sender over undici, with one set of connections for each provider that brings
 * its own, and one for all others. Nothing of undici is loaded before something is sent.
 */

import type { Dispatcher } from 'undici';
import type { ProviderAccess } from '../define/provider-access.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sender } from '../ports/sender.ts';
import { accessTo } from './access.ts';
import { managedSender } from './sender.ts';

/** Throws DEFINITION_INVALID for what of a provider cannot be right; its dispatcher is looked at when it is first used. */
export function httpSender(clock: Clock, providers: Readonly<Record<string, ProviderAccess>>): Sender {
  const given = new Map(Object.entries(providers).map(([name, { dispatcher }]) => [name, dispatcher]));
  const checked = new Map<string, Promise<Pick<Dispatcher, 'dispatch'>>>();
  let own: Promise<Dispatcher> | null = null;

  /** What a host passes is the host's to close. */
  function dispatcherOf(provider: string | null): Promise<Pick<Dispatcher, 'dispatch'>> {
    const theirs = provider === null ? undefined : given.get(provider);
    if (provider === null || theirs === undefined) {
      own ??= import('./dispatchers.ts').then(({ ownDispatcher }) => ownDispatcher());
      return own;
    }
    const known = checked.get(provider);
    if (known !== undefined) return known;
    const found = import('./dispatchers.ts').then(({ checkedDispatcher }) => checkedDispatcher(theirs));
    checked.set(provider, found);
    return found;
  }

  return managedSender({
    clock,
    accessTo: accessTo(providers),
    async dispatch(provider, outgoing, departure) {
      const [{ dispatchOnce }, dispatcher] = await Promise.all([import('./dispatch.ts'), dispatcherOf(provider)]);
      return await dispatchOnce(dispatcher, outgoing, departure, clock);
    },
    async close() {
      const closing = own;
      own = null;
      await (await closing)?.destroy();
    },
  });
}
