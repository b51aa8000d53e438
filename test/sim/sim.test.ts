import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { nodeArguments } from '../zoo/plant.ts';
import { figure } from '../support/figures.ts';
import { SAGAS_EACH } from './plan.ts';
import { playAll } from './players.ts';
import { rowText } from './report.ts';
import { play } from './schedule.ts';
import { Tally } from './tally.ts';
import { zoo } from './zoo.ts';

const command = fileURLToPath(new URL('main.ts', import.meta.url));

interface KeptSeed {
  readonly seed: number;
  readonly what: string;
}

// The file is ours.
const kept = JSON.parse(readFileSync(new URL('../seeds.json', import.meta.url), 'utf8')) as readonly KeptSeed[];

function sim(...args: string[]) {
  return spawnSync(process.execPath, [...nodeArguments, command, ...args], { encoding: 'utf8' });
}

describe('a slice of the simulator', () => {
  test('breaks no rule and leaves nothing undone', { timeout: 300_000 }, async () => {
    const seeds = Array.from({ length: 300 }, (_, index) => 1_000_001 + index);

    // In a process of its own, where its modules run as they are: it takes half as long.
    const { broken, counts } = await playAll({ seeds, processes: 1 });

    expect(broken.map((one) => rowText(one, 'all'))).toEqual([]);
    const idle = Object.entries(counts.faults).filter(([, count]) => count === 0);
    expect(idle).toEqual([]);
  });

  test('plays the same seed the same way again, whatever was played before it', async () => {
    const seeds = Array.from({ length: 20 }, (_, index) => 2_000_001 + index);
    const first = new Map<number, string>();
    for (const seed of seeds) first.set(seed, (await play(seed, new Tally())).hash);

    const again = new Map<number, string>();
    for (const seed of seeds.toReversed()) again.set(seed, (await play(seed, new Tally())).hash);

    expect(new Set(first.values()).size).toBe(seeds.length);
    for (const seed of seeds) expect(again.get(seed)).toBe(first.get(seed));
  });

  test.each(kept)('is right about seed $seed: $what', async ({ seed }) => {
    const { violation } = await play(seed, new Tally());

    expect(violation).toBeNull();
  });
});

describe('a slice of random sagas', () => {
  const SAGAS = 5_000;

  test('end as their providers say, taken back or with a person', { timeout: 900_000 }, async () => {
    const seeds = Array.from({ length: SAGAS / SAGAS_EACH }, (_, index) => 4_000_001 + index);

    const { broken, counts } = await playAll({ seeds, cast: 'sagas', processes: 1 });

    expect(broken.map((one) => rowText(one, 'sagas'))).toEqual([]);
    const { sometimes } = counts;
    expect(sometimes['saga: begun']).toBeGreaterThanOrEqual(SAGAS);
    figure('random sagas that broke a rule, of 5,000', broken.length, 0);
    for (const end of ['succeeded', 'compensated', 'terminated', 'escalated']) {
      expect(sometimes[`saga: ${end}`]).toBeGreaterThan(0);
      figure(`random sagas that were ${end}, of 5,000`, sometimes[`saga: ${end}`] ?? 0, 2 * SAGAS);
    }
  });
});

describe('a defect in the library', () => {
  test.each([
    'timeout-taken-for-failure',
    'update-by-id-only',
    'new-key-per-attempt',
    'interrupted-attempt-is-run-again',
    'doubt-taken-for-written',
    'late-result-dropped',
  ])('is caught: %s', async (defect) => {
    const { caught } = await zoo({ processes: 1, only: [defect], schedulesMax: 2_000, onRow: () => {} });

    expect(caught).toBe(1);
  });

  test('that nobody has made is not caught', async () => {
    const { ok, defects } = await zoo({ processes: 1, only: ['no-such-defect'], onRow: () => {} });

    expect({ ok, defects }).toEqual({ ok: false, defects: 0 });
  });
});

describe('the command', () => {
  test('prints a row for what is wrong and a summary, as JSON', () => {
    const { status, stdout } = sim('--schedules', '20', '--json', '--processes', '1');

    const summary: unknown = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    expect(status).toBe(0);
    expect(summary).toMatchObject({ summary: 'sim', ok: true, firstSeed: 1, violations: 0, livenessFailures: 0 });
    expect(summary).toMatchObject({ schedules: 20 + kept.length, traceHash: expect.stringMatching(/^[0-9a-f]{32}$/) });
  });

  test('gives the same trace however many processes play', () => {
    const [one, two] = ['1', '2'].map((processes) => sim('--schedules', '60', '--json', '--processes', processes));

    expect(hashIn(one?.stdout)).toMatch(/^[0-9a-f]{32}$/);
    expect(hashIn(two?.stdout)).toBe(hashIn(one?.stdout));
  });

  test('tells the story of one seed', () => {
    const { status, stdout } = sim('--seed', '7');

    expect(status).toBe(0);
    expect(stdout).toContain('"seed": 7');
    expect(stdout).toMatch(/caller +submits .+\/order-1 to w1/);
    expect(stdout).toContain('Seed 7 broke no rule');
  });

  test.each([
    [['--schedules', 'many'], '--schedules is "many", and must be a whole number from 1 on.'],
    [['--seed', '0'], '--seed is "0", and must be a whole number from 1 on.'],
    [['--sedes', '1'], "Unknown option '--sedes'"],
    [['twenty'], '"twenty" is no option.'],
  ])('says what is wrong with %j, and runs nothing', (args, complaint) => {
    const { status, stdout, stderr } = sim(...args);

    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(complaint);
    expect(stderr).toContain('Usage: npm run sim');
  });
});

function hashIn(stdout = ''): unknown {
  const summary = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}') as { traceHash?: unknown };
  return summary.traceHash;
}
