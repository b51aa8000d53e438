/** `sagacity/providers`: what is known of the companies that operations go to. */

export { contract, type ContractOptions, type ContractLookupOptions, type KeyOptions } from './define/contract.ts';
export type {
  Contract,
  ContractKey,
  ContractLookup,
  KeyScope,
  Proven,
  ReplyRule,
  SameKey,
  StatusMatch,
} from './domain/contract.ts';
