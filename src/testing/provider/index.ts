/** The scripted provider for tests: `scriptedProvider` in this process, `spawnProvider` in its own. */

export { providerAt } from './client.ts';
export type { ProviderClient, Which } from './client.ts';
export type { ProviderClock } from './clock.ts';
export type { LogEntry, LogEvent, ReceivedRequest } from './log.ts';
export type { CallModeName, LookupModeName, WrittenMode } from './modes.ts';
export type { ServerOptions } from './server.ts';
export { scriptedProvider, spawnProvider } from './start.ts';
export type { ScriptedProvider, SpawnOptions } from './start.ts';
export type { ProviderRecord } from './test-paths.ts';
