/** A provider of which nothing is known: no key, nobody to ask, and of its replies what HTTP says of any. */

import { contract } from '../../define/contract.ts';
import type { Contract } from '../../domain/contract.ts';

/**
 * The contract of a provider without one. What was sent and not answered, or answered by an error of the server, waits for
 * a person.
 */
export function noContract(): Contract {
  return contract({
    ...{ name: 'no-contract', version: '1', docs: 'https://www.rfc-editor.org/rfc/rfc9110', verified: '2026-11-30' },
    ...{ key: 'none', lookup: 'none' },
  });
}
