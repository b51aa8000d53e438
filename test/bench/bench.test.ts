/** The benchmark as a command: what it takes, what it prints, and what counts as right. */

import { describe, expect, test } from 'vitest';
import { runExample } from '../examples/run-example.ts';
import { type SenderRow, verdictOn } from './sender.ts';

const bench = 'test/bench/main.ts';
const some: unknown = expect.any(Number);

describe('two hundred calls through either sender', () => {
  test('have two hundred effects at either concurrency', async () => {
    const ran = await runExample(bench, ['sender', '--calls', '200', '--json'], 50_000);

    const row = (system: string, concurrency: number) => ({
      ...{ system, concurrency, calls: 200, effects: 200, cpuUsPerCall: some, p50Us: some },
    });
    // How fast they are depends on the machine, and is no matter of this test.
    expect(ran.stdout.trimEnd().split('\n').map(parsed)).toEqual([
      ...[row('undici', 1), row('sagacity', 1), row('undici', 32), row('sagacity', 32)],
      { summary: 'bench-sender', ok: expect.any(Boolean), ratio: some, effects: 800 },
    ]);
    expect(ran.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('bench: '))).toEqual([]);
  });
});

describe('a comparison of senders', () => {
  const rows = (oursUs: readonly [number, number], effects = 10): SenderRow[] =>
    [1, 32].flatMap((concurrency, n) => {
      const row = { concurrency, calls: 10, effects: 10, p50Us: 1 };
      const ours = { ...row, system: 'sagacity', effects, cpuUsPerCall: oursUs[n] ?? 0 } as const;
      return [{ ...row, system: 'undici', cpuUsPerCall: 50 } as const, ours];
    });

  test('tells the worse of the two ratios', () => {
    expect(verdictOn(rows([100, 75]))).toEqual({ summary: 'bench-sender', ok: true, ratio: 2, effects: 40 });
  });

  test.each([
    ['the sender takes more than four times as much', rows([10, 201])],
    ['there are fewer effects than calls', rows([50, 50], 9)],
    ['there are more', rows([50, 50], 11)],
  ])('is wrong when %s', (_, given) => {
    expect(verdictOn(given)).toMatchObject({ ok: false });
  });
});

describe('a benchmark that is asked for what it cannot do', () => {
  test.each([
    { args: [], why: 'Say what is to be compared' },
    { args: ['sender', 'relay'], why: 'Say what is to be compared' },
    { args: ['sender', '--calls', 'many'], why: '--calls is "many"' },
    { args: ['sender', '--jsno'], why: "'--jsno'" },
  ])('shows its usage for $args', async ({ args, why }) => {
    const ran = await runExample(bench, args);

    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toContain(why);
    expect(ran.stderr).toContain('Usage: npm run bench');
  });
});

function parsed(line: string): unknown {
  return JSON.parse(line);
}
