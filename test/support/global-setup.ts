/**
 * Runs before the first test: a provider that does not keep its own promises would make every later result
 * meaningless, so the run stops here if it fails its self-check. Meanwhile the cluster starts in which tests have
 * their databases (`postgres.ts`); it is closed after the last test.
 */

import type { TestProject } from 'vitest/node';
import { privatePostgres } from '../../src/testing/private-postgres/private-postgres.ts';
import { spawnProvider } from '../../src/testing/provider/index.ts';
import { selfCheck } from '../provider/self-check.ts';

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const [cluster, checked] = await Promise.allSettled([
    privatePostgres({ settings: { fsync: 'off' } }),
    checkTheProvider(),
  ]);
  if (checked.status === 'rejected') {
    if (cluster.status === 'fulfilled') await cluster.value.close();
    throw checked.reason;
  }
  if (cluster.status === 'rejected') throw cluster.reason;
  project.provide('clusterUrl', cluster.value.url);
  return () => cluster.value.close();
}

async function checkTheProvider(): Promise<void> {
  const provider = await spawnProvider();
  try {
    await selfCheck(provider.url);
  } finally {
    await provider.close();
  }
}
