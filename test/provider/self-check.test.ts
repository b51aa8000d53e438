/** The provider is proven in a process of its own, the way the other tests use it. */

import { describe, expect, test } from 'vitest';
import { spawnProvider } from '../../src/testing/provider/index.ts';
import { selfCheck } from './self-check.ts';

describe('a provider in its own process', () => {
  test('keeps the promises every other test relies on', async () => {
    const provider = await spawnProvider();

    const checked = await selfCheck(provider.url).catch((fault: unknown) => fault);
    await provider.close();

    expect(checked).toBeUndefined();
    expect(provider.pid).not.toBe(process.pid);
  });
});
