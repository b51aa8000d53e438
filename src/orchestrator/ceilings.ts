/**
 * The limits of this process as `createOrchestrator` was given them. A limit for a provider that no definition names
 * would be kept by nobody, and is refused.
 */

import { definitionInvalid } from '../domain/errors.ts';
import type { Operation } from '../define/operation.ts';
import type { ProviderAccess } from '../define/provider-access.ts';
import { didYouMean, nearest } from '../define/option-names.ts';
import { type Ceiling, ceilingOf, type WorkLimit } from '../define/work-limit.ts';
import type { Ceilings } from './permits.ts';

export interface LimitOptions {
  /**
   * Attempts and look-ups that this process carries out at once, whatever they are; with n processes there are n times as
   * many. Default 32.
   */
  readonly concurrency?: number;
  /**
   * What goes out to one company, whichever of its actions it is: by the `provider` that operations name, those of this
   * process together. With n processes the company sees up to n times as much. One that is not listed has no limit.
   *
   * @example
   * createOrchestrator({ store, definitions, providers: { 'card-company': { concurrency: 10, rate: '100/s' } } });
   */
  readonly providers?: Readonly<Record<string, WorkLimit & ProviderAccess>>;
  /**
   * What goes out for one tenant, so that none takes all of this process; with n processes a tenant has up to n times as
   * much. Without it, tenants take turns where more is due than can be begun.
   */
  readonly perTenant?: WorkLimit;
}

const subject = { called: 'createOrchestrator', facts: {} };

/** Throws DEFINITION_INVALID for a limit that is none, and for a provider that none of these operations names. */
export function ceilingsOf(options: LimitOptions, operations: ReadonlyMap<string, Operation>): Ceilings {
  const { providers = {}, perTenant } = options;
  const named = [...new Set([...operations.values()].flatMap(({ provider }) => provider ?? []))];
  const ofProviders = new Map<string, Ceiling>();
  for (const [provider, limit] of Object.entries(providers)) {
    if (!named.includes(provider)) throw unused(provider, named);
    const { url: _url, credentials: _credentials, dispatcher: _dispatcher, ...work } = limit;
    if (Object.keys(work).length === 0) continue;
    ofProviders.set(provider, ceilingOf(work, subject, `providers[${JSON.stringify(provider)}]`));
  }
  const ofActions = new Map<string, readonly Ceiling[]>();
  for (const { action, limit, provider } of operations.values()) {
    const ofProvider = provider === null ? undefined : ofProviders.get(provider);
    ofActions.set(
      action,
      [limit, ofProvider].flatMap((ceiling) => ceiling ?? []),
    );
  }
  return {
    concurrency: concurrencyOf(options.concurrency),
    ofActions,
    perTenant: perTenant === undefined ? null : ceilingOf(perTenant, subject, 'perTenant'),
  };
}

function unused(provider: string, named: readonly string[]): Error {
  const known = named.length === 0 ? 'none of them names one' : `they name ${named.join(', ')}`;
  return definitionInvalid(
    `No definition has the provider ${provider}${didYouMean(nearest(provider, named))}`,
    `The limit would be kept by nobody: write provider: '...' in the operations that share it; ${known}.`,
    { option: 'providers', provider },
  );
}

function concurrencyOf(given = 32): number {
  if (Number.isSafeInteger(given) && given >= 1) return given;
  throw definitionInvalid(
    'concurrency is not a whole number of at least 1.',
    'Write how many attempts may run at once.',
  );
}
