/** What a team needs to test its own operations against a company that lies, and its own adapters against the ports. */

export { memoryStore } from './adapters/memory/store.ts';
export { testClock, type TestClock } from './testing/clock.ts';
export { providerAt, scriptedProvider, type ScriptedProvider, spawnProvider } from './testing/provider/index.ts';
export { storeSuite } from './testing/store-suite.ts';
