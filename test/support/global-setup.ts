/**
 * Runs before the first test: a provider that does not keep its own promises would make every later result
 * meaningless, so the run stops here if it fails its self-check.
 */

import { spawnProvider } from '../../src/testing/provider/index.ts';
import { selfCheck } from '../provider/self-check.ts';

export async function setup(): Promise<void> {
  const provider = await spawnProvider();
  try {
    await selfCheck(provider.url);
  } finally {
    await provider.close();
  }
}
