/** The address and the credentials of each provider, as the process was given them. */

import type { ProviderAccess } from '../define/provider-access.ts';
import { definitionInvalid } from '../domain/errors.ts';

/** What is known of a provider. */
export interface Access {
  /** Without a slash at its end. */
  readonly url: string | null;
  readonly origin: string | null;
  readonly credentials: NonNullable<ProviderAccess['credentials']> | null;
}

const nowhere: Access = { url: null, origin: null, credentials: null };

/** Throws DEFINITION_INVALID for an address that is none, and for credentials that cannot be asked for or have none. */
export function accessTo(providers: Readonly<Record<string, ProviderAccess>>): (provider: string | null) => Access {
  const known = new Map(Object.entries(providers).map(([name, access]) => [name, accessOf(name, access)]));
  return (provider) => (provider === null ? undefined : known.get(provider)) ?? nowhere;
}

function accessOf(provider: string, { url, credentials }: ProviderAccess): Access {
  const option = (name: string) => `providers[${JSON.stringify(provider)}].${name}`;
  if (url !== undefined && !isAddress(url)) {
    throw definitionInvalid(
      `${option('url')} is no address of HTTP.`,
      "Write for example 'https://api.shop.example/v1', without a name or password: those are credentials.",
      {
        provider,
        option: 'url',
      },
    );
  }
  if (credentials !== undefined && typeof credentials !== 'function') {
    throw definitionInvalid(
      `${option('credentials')} is no function.`,
      'Write ({ tenant }) => ({ authorization: ... }): it is asked for each request.',
      { provider, option: 'credentials' },
    );
  }
  if (credentials !== undefined && url === undefined) {
    throw definitionInvalid(
      `${option('credentials')} belong to no address: they would go to whatever a request names.`,
      `Say where the provider is: url: 'https://api.shop.example/v1'.`,
      { provider, option: 'url' },
    );
  }
  return {
    url: url?.replace(/\/$/, '') ?? null,
    origin: url === undefined ? null : new URL(url).origin,
    credentials: credentials ?? null,
  };
}

function isAddress(url: unknown): boolean {
  if (typeof url !== 'string' || !URL.canParse(url)) return false;
  const { protocol, username, password, search, hash } = new URL(url);
  const isBare = [username, password, search, hash].every((part) => part === '');
  return (protocol === 'https:' || protocol === 'http:') && isBare;
}
