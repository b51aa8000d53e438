import { describe, expect, test } from 'vitest';
import { runExample } from './run-example.ts';

const demo = 'examples/demo/main.ts';

const born = ['pending', 'in-progress'];
const sentAgain = [...born, 'unknown', ...born, 'succeeded'];
const lookedUp = [...born, 'unknown', 'succeeded'];
const one = { kills: 0, providerRecords: 1, expectedRecords: 1, ok: true };

describe('the demo, asked for lines of JSON', () => {
  test('shows one record at the provider for every way to lose a reply or ask twice', async () => {
    const ran = await runExample(demo, ['--json']);

    expect(ran.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('demo: '))).toEqual([]);
    const lines = ran.stdout.trimEnd().split('\n').map(parsed);
    expect(lines.slice(0, -1)).toEqual(
      [
        { ...one, scenario: 'A', attempts: 2, lookups: 0, records: { job: 1 }, states: sentAgain },
        { ...one, scenario: 'B', attempts: 2, lookups: 0, records: { job: 1 }, states: sentAgain },
        { ...one, scenario: 'C', attempts: 1, lookups: 1, records: { job: 1 }, states: lookedUp },
        { ...one, scenario: 'D', attempts: 1, lookups: 1, records: { payment: 1 }, states: lookedUp, kills: 1 },
        { ...one, scenario: 'E', attempts: 1, lookups: 0, records: { payment: 1 }, states: [...born, 'succeeded'] },
        { ...one, scenario: 'F', attempts: 1, lookups: 0, records: { payment: 1 }, states: [...born, 'succeeded'] },
        {
          ...{ ...one, scenario: 'H', attempts: 1, lookups: 0, records: { email: 1 } },
          states: [...born, 'unknown', 'escalated', 'succeeded'],
        },
      ].map(({ scenario, ...row }) => ({
        ...row,
        scenario: expect.stringMatching(new RegExp(`^${scenario} `)),
        ms: expect.any(Number),
      })),
    );
    expect(lines.at(-1)).toEqual({ summary: 'demo', scenarios: 7, store: 'pglite', ok: true, ms: expect.any(Number) });
    expect(ran.code).toBe(0);
  }, 180_000);
});

describe('the demo, asked for what it cannot do', () => {
  test.each(['--postgres', '--cluster'])(
    'says in one line that %s is not there, and prints no result',
    async (flag) => {
      const ran = await runExample(demo, [flag]);

      expect(ran).toEqual({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(/^--\w+ is not in this version: .+\n$/),
      });
    },
  );

  test('shows its usage for an option it does not know', async () => {
    const ran = await runExample(demo, ['--jsno']);

    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toContain('Usage: npm run demo');
  });
});

describe('the demo, asked for help', () => {
  test('prints its usage and is content', async () => {
    const ran = await runExample(demo, ['--help']);

    expect(ran.code).toBe(0);
    expect(ran.stdout).toMatch(/^Usage: npm run demo/);
  });
});

function parsed(line: string): unknown {
  return JSON.parse(line);
}
