/** What a description of a provider of one's own says whatever its kind. */

import type { ContractLookupOptions, ContractOptions } from '../../define/contract.ts';
import type { ReplyRule } from '../../domain/contract.ts';

export interface Described {
  /** Provider, API and endpoint, such as `card-company/charges`. */
  readonly name: string;
  /** The page on which the provider says so. */
  readonly docs: string;
  /** The day on which that was read, `2026-11-30`, or `'unverified'`. */
  readonly verified: string;
  /** Of this description. Default `'1'`. */
  readonly version?: string;
  /** What its replies prove besides, before what they prove at all providers of the kind. */
  readonly replies?: readonly ReplyRule[];
}

export interface DescribedLookup {
  /** How its records are looked up, or `'none'`: nobody can be asked. */
  readonly lookup: ContractLookupOptions | 'none';
}

/** The options of a contract that are in it. */
export function described({ name, docs, verified, version = '1' }: Described): {
  readonly [Option in 'name' | 'docs' | 'verified' | 'version']: ContractOptions[Option];
} {
  return { name, docs, verified, version };
}
