import { memoryStore, scriptedProvider, type ScriptedProvider, testClock } from 'sagacity/testing';

const clock = testClock();
export const store = memoryStore({ clock });
export const provider: () => Promise<ScriptedProvider> = () => scriptedProvider();
