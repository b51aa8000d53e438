/**
 * The limits of this process as `createOrchestrator` was given them. A limit for a provider that no definition names
 * would be kept by nobody, and is refused.
 */

import { definitionInvalid } from '../domain/errors.ts';
import type { Operation } from '../define/operation.ts';
import type { ProviderAccess } from '../define/provider-access.ts';
import { didYouMean, nearest } from '../define/option-names.ts';
import { ceilingOf, type WorkLimit } from '../define/work-limit.ts';
import type { Ceilings } from './permits.ts';
import { type ProviderCare, providerCareOf, type ProviderLimit } from './provider-limit.ts';

export interface LimitOptions {
  /**
   * Attempts and look-ups that this process carries out at once, whatever they are; with n processes there are n times as
   * many. Default 32.
   */
  readonly concurrency?: number;
  /**
   * What goes out to one company, whichever of its actions it is: by the `provider` that operations name, those of this
   * process together. With n processes the company sees up to n times as much. One that is not listed has no limit, and
   * the breaker and the retry budget that are the default.
   *
   * @example
   * createOrchestrator({ store, definitions, providers: { 'card-company': { concurrency: 10, rate: '100/s' } } });
   */
  readonly providers?: Readonly<Record<string, ProviderLimit & ProviderAccess>>;
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
  const unnamed = Object.keys(providers).find((provider) => !named.includes(provider));
  if (unnamed !== undefined) throw unused(unnamed, named);
  const ofProviders = new Map<string, ProviderCare>(
    named.map((provider) => [
      provider,
      providerCareOf(providers[provider], subject, `providers[${JSON.stringify(provider)}]`),
    ]),
  );
  const all = [...operations.values()];
  const ceilingIn = (provider: string | null) => (provider === null ? null : ofProviders.get(provider)?.ceiling);
  return {
    concurrency: concurrencyOf(options.concurrency),
    ofActions: new Map(
      all.map(({ action, limit, provider }) => [
        action,
        [limit, ceilingIn(provider)].flatMap((ceiling) => ceiling ?? []),
      ]),
    ),
    ofProviders,
    providerOf: new Map(all.flatMap(({ action, provider }) => (provider === null ? [] : [[action, provider]]))),
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
