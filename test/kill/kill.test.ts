import { describe, expect, test, vi } from 'vitest';
import { runExample } from '../examples/run-example.ts';
import { inAFolderOfItsOwn } from '../support/left-behind.ts';
import { flowNames } from './flows.ts';
import { notYet, points } from './points.ts';
import type { MatrixSummary, PairsSummary, Row } from './report.ts';

const command = 'test/kill/main.ts';
const folder = inAFolderOfItsOwn();

describe('worker processes that are struck between two steps, between two inverses, and about a timer', () => {
  const flows = flowNames.filter((flow) => flow !== 'retry' && flow !== 'reconciliation');
  const struck = ['during step', 'after inverse', 'during move', 'after timer', 'before wake'];

  test('lose nothing and do nothing twice, whoever goes on', { timeout: 180_000 }, async () => {
    const chosen = [...flows.flatMap((flow) => ['--flow', flow]), ...struck.flatMap((point) => ['--point', point])];
    const ran = await kill(...chosen);

    const { rows, summary } = reported<MatrixSummary>(ran.stdout);
    expect(rows.filter(({ ok }) => !ok)).toEqual([]);
    // Both sagas have steps, one is taken back, and so is an operation alone; at each point there are five fates. The saga
    // that waits is struck about its timer, with four.
    expect(summary).toMatchObject({ summary: 'kill', ok: true, cases: 20 + 8, wrongCounts: 0, orphans: 0 });
    expect([...summary.points].toSorted()).toEqual(struck.toSorted());
    expect(summary.kills).toBeGreaterThanOrEqual(28);
    expect(rows.every(({ records, expected }) => records === expected && records > 0)).toBe(true);
    expect(ran.code).toBe(0);
    expect(await folder.leftBehind()).toEqual([]);

    // Every point there is, is one that a flow comes by.
    expect(Object.keys(summary.reached)).toEqual(flows);
    const reached = new Set(Object.values(summary.reached).flat());
    expect(points.filter((point) => !reached.has(point))).toEqual([]);
    expect(summary.notYet).toEqual(notYet);
  });
});

describe('two processes that are killed one after the other', () => {
  test('are chosen by the seed, and leave the third one what it needs', async () => {
    const ran = await kill('--random', '2', '--seed', '7', '--flow', 'refund');

    const { rows, summary } = reported<PairsSummary>(ran.stdout);
    expect(summary).toMatchObject({ summary: 'kill', ok: true, pairs: 2, seed: 7, wrongCounts: 0, orphans: 0 });
    expect(rows.map(({ point }) => point)).toEqual([expect.stringContaining(' + '), expect.stringContaining(' + ')]);
    expect(ran.code).toBe(0);
  });
});

describe('a library with a defect', () => {
  test('is found wrong by the records of the provider', async () => {
    vi.stubEnv('SAGACITY_DEFECT', 'test/zoo/defects/key-made-anew-by-who-takes-over.ts');

    const ran = await kill('--flow', 'payment', '--point', 'during request', '--recovery', 'restart');

    const { rows, summary } = reported<MatrixSummary>(ran.stdout);
    expect(summary).toMatchObject({ ok: false, cases: 1, kills: 1, wrongCounts: 1 });
    expect(rows[0]?.complaints).toContain('there are 2 records of authorisation and not 1 [payment-1 succeeded]');
    expect(ran.code).toBe(1);
    expect(await folder.leftBehind()).toEqual([]);
  });
});

describe('a kill matrix that is told to end', () => {
  test('leaves nothing behind, and says that it was interrupted', async () => {
    const ran = await runExample(command, ['--json'], 9_000);

    expect(ran.code).toBe(143);
    expect(ran.stdout).not.toContain('"summary"');
    expect(await folder.leftBehind()).toEqual([]);
  });
});

describe('a kill matrix that cannot run', () => {
  test.each([
    ['--flow', 'everything'],
    ['--point', 'somewhere'],
    ['--signal', 'SIGHUP'],
    ['--recovery', 'none'],
    ['--random', '0'],
    ['--processes', 'all'],
  ])('shows its usage for %s %s', async (option, value) => {
    const ran = await runExample(command, [option, value]);

    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toContain(`${option} is "${value}"`);
    expect(ran.stderr).toContain('Usage: npm run kill');
  });
});

describe('the kill matrix, asked for help', () => {
  test('prints its usage and is content', async () => {
    const ran = await runExample(command, ['--help']);

    expect(ran).toEqual({ code: 0, stdout: expect.stringMatching(/^Usage: npm run kill/), stderr: '' });
  });
});

function kill(...args: string[]) {
  return runExample(command, [...args, '--json'], 175_000);
}

/** What `--json` prints: a row for each case, and a summary. */
function reported<Summary>(stdout: string): { readonly rows: readonly Row[]; readonly summary: Summary } {
  const lines = stdout.trim().split('\n');
  return {
    // What the command prints is what the types say.
    rows: lines.slice(0, -1).map((line) => JSON.parse(line) as Row),
    summary: JSON.parse(lines.at(-1) ?? '') as Summary,
  };
}
