/**
 * The sender that speaks HTTP: the managed sender over undici, with one set of connections for each provider that brings
 * its own, and one for all others. Nothing of undici is loaded before something is sent.
 */

import type { Agent, Dispatcher } from 'undici';
import type { ProviderAccess } from '../define/provider-access.ts';
import type { Clock } from '../ports/clock.ts';
import type { Sender } from '../ports/sender.ts';
import { accessTo } from './access.ts';
import type { dispatchOnce } from './dispatch.ts';
import { Unsendable } from './outgoing.ts';
import { managedSender } from './sender.ts';

/** Connections over which something can be sent, and how. */
interface Way {
  readonly once: typeof dispatchOnce;
  readonly over: Pick<Dispatcher, 'dispatch'>;
}

/** Throws DEFINITION_INVALID for what of a provider cannot be right; its dispatcher is looked at as it is opened. */
export function httpSender(clock: Clock, providers: Readonly<Record<string, ProviderAccess>>): Sender {
  const given = new Map(
    Object.entries(providers).flatMap(([name, { dispatcher }]) =>
      dispatcher === undefined ? [] : [[name, dispatcher] as const],
    ),
  );
  /** By the name of a provider that brings its own; null: all others. */
  const ways = new Map<string | null, Way>();
  let own: Promise<Agent> | null = null;
  let isClosed = false;

  async function open(whose: string | null): Promise<Way> {
    const [{ dispatchOnce }, { checkedDispatcher, ownDispatcher }] = await Promise.all([
      import('./dispatch.ts'),
      import('./dispatchers.ts'),
    ]);
    // Connections that are opened now would be closed by nobody.
    if (isClosed) throw new Unsendable('its sender is closed');
    const way: Way = {
      once: dispatchOnce,
      over: whose === null ? await (own ??= ownDispatcher()) : await checkedDispatcher(given.get(whose)),
    };
    ways.set(whose, way);
    return way;
  }

  return managedSender({
    clock,
    accessTo: accessTo(providers),
    async dispatch(provider, outgoing, departure) {
      const whose = provider !== null && given.has(provider) ? provider : null;
      const { once, over } = ways.get(whose) ?? (await open(whose));
      if (isClosed) throw new Unsendable('its sender is closed');
      return await once(over, outgoing, departure, clock);
    },
    /** Loads nothing where nobody has passed anything. */
    async open() {
      await Promise.all([...given.keys()].map(open));
    },
    /** What a host has passed is the host's to close. */
    async close() {
      isClosed = true;
      const closing = own;
      own = null;
      ways.clear();
      await (await closing)?.destroy();
    },
  });
}
