import { describe, expect, test, vi } from 'vitest';
import { inAFolderOfItsOwn } from '../support/left-behind.ts';
import { runExample } from './run-example.ts';

const demo = 'examples/demo/main.ts';

const born = ['pending', 'in-progress'];
const sentAgain = [...born, 'unknown', ...born, 'succeeded'];
const lookedUp = [...born, 'unknown', 'succeeded'];
const one = { kills: 0, providerRecords: 1, expectedRecords: 1, ok: true };

const folder = inAFolderOfItsOwn();

describe('the demo, asked for lines of JSON', () => {
  test.each([
    ['pglite', []],
    ['postgres', ['--postgres']],
  ])(
    'shows just the records that should be at the provider, however replies are lost or asked for twice, on %s',
    async (store, flags) => {
      const ran = await runExample(demo, [...flags, '--json']);

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
            ...{ ...one, scenario: 'G', attempts: 5, lookups: 1, providerRecords: 4, expectedRecords: 4 },
            records: { authorisation: 1, reservation: 1, release: 1, void: 1 },
            states: ['prepare', 'review', 'shipping', 'compensating', 'compensated'],
            cause: { step: 'shipment', code: 'address_refused' },
          },
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
      expect(lines.at(-1)).toEqual({ summary: 'demo', scenarios: 8, store, ok: true, ms: expect.any(Number) });
      expect(ran.code).toBe(0);
      expect(await folder.leftBehind()).toEqual([]);
    },
    180_000,
  );
});

describe('the demo, asked for what it cannot do', () => {
  test('passes on why there is no PostgreSQL, prints no result, and leaves nothing', async () => {
    vi.stubEnv('SAGACITY_TEST_POSTGRES', 'elsewhere');

    const ran = await runExample(demo, ['--postgres']);

    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toContain('The demo could not run: SAGACITY_TEST_POSTGRES is "elsewhere".');
    expect(await folder.leftBehind()).toEqual([]);
  });

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
