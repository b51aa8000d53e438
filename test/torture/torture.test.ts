import { describe, expect, test, vi } from 'vitest';
import { runExample } from '../examples/run-example.ts';
import { inAFolderOfItsOwn } from '../support/left-behind.ts';
import { statementNames } from '../../src/adapters/postgres/executor.ts';
import type { Summary } from './tally.ts';

const torture = 'test/torture/main.ts';

const folder = inAFolderOfItsOwn();

describe('a database that is mistreated in every way', () => {
  test('costs no effect, no operation, no process and no call its answer', { timeout: 180_000 }, async () => {
    const ran = await runExample(torture, ['--minutes', '0.2', '--seed', '20', '--json']);

    // What the command prints is what the type says.
    const summary = JSON.parse(ran.stdout) as Summary;
    const { statements, ...counts } = summary;
    expect({ ...counts, complaints: complaintsIn(ran.stderr) }).toEqual({
      ...{ summary: 'torture', ok: true, seed: 20, uncaught: 0, hung: 0, wrongCounts: 0, complaints: [] },
      ...{ calls: some, terminated: some, lostRequests: some, lostReplies: some, serverStops: some },
      ...{ postmasterKills: some, readBack: some, operations: some, sagas: some, takenBack: some, ms: some },
    });
    const { calls, terminated, serverStops, postmasterKills, readBack, operations, sagas, takenBack } = summary;
    expect(
      Math.min(calls, terminated, serverStops, postmasterKills, readBack, operations, sagas, takenBack),
    ).toBeGreaterThan(0);
    const both = { lostRequests: true, lostReplies: true };
    expect(
      Object.entries(statements).map(([name, { lostRequests, lostReplies }]) => [
        name,
        { lostRequests: lostRequests > 0, lostReplies: lostReplies > 0 },
      ]),
    ).toEqual(statementNames.map((name) => [name, both]));
    expect(ran.code).toBe(0);
    expect(await folder.leftBehind()).toEqual([]);
  });
});

describe('a torture that is told to end', () => {
  test('leaves nothing behind, and says that it was interrupted', async () => {
    const ran = await runExample(torture, ['--minutes', '5', '--json'], 9_000);

    expect(ran.code).toBe(143);
    expect(ran.stdout).toBe('');
    expect(await folder.leftBehind()).toEqual([]);
  });
});

describe('a torture that cannot run', () => {
  test('says why, prints no result, and leaves nothing', async () => {
    vi.stubEnv('SAGACITY_TEST_POSTGRES', 'elsewhere');

    const ran = await runExample(torture, ['--json']);

    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toContain('The torture could not run: SAGACITY_TEST_POSTGRES is "elsewhere".');
    expect(await folder.leftBehind()).toEqual([]);
  });

  test.each([
    ['--minutes', 'none'],
    ['--seed', '1.5'],
  ])('shows its usage for %s %s', async (option, value) => {
    const ran = await runExample(torture, [option, value]);

    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toContain(`${option} takes`);
    expect(ran.stderr).toContain('Usage: npm run torture');
  });
});

describe('the torture, asked for help', () => {
  test('prints its usage and is content', async () => {
    const ran = await runExample(torture, ['--help']);

    expect(ran).toEqual({ code: 0, stdout: expect.stringMatching(/^Usage: npm run torture/), stderr: '' });
  });
});

const some: unknown = expect.any(Number);

/** All that was said except for progress. */
function complaintsIn(stderr: string): string[] {
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('torture: '));
}
