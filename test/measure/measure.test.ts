/** The measurements as commands: what they take, what they print, and what counts as right. */

import { describe, expect, test } from 'vitest';
import { runExample } from '../examples/run-example.ts';
import { inAFolderOfItsOwn } from '../support/left-behind.ts';
import { latenessOf, worstOf } from './lateness.ts';
import { isRight } from './outages-report.ts';

const measure = 'test/measure/main.ts';
const folder = inAFolderOfItsOwn();

describe('sixty timers within three seconds, and nobody there who armed them', () => {
  test('all fire, and none before it is due', { timeout: 200_000 }, async () => {
    const args = ['timers', '--timers', '60', '--seconds', '3', '--mode', 'nats-emptied', '--json'];

    const ran = await runExample(measure, args, 190_000);

    const lateness = { timers: 60, fired: 60, early: 0, p50Ms: some, p99Ms: some, maxMs: some };
    expect(ran.stdout.trimEnd().split('\n').map(parsed)).toEqual([
      { mode: 'nats-emptied', ...lateness },
      { summary: 'measure-timers', ok: true, ...lateness },
    ]);
    expect(ran.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('measure: '))).toEqual([]);
    expect(ran.stderr).toContain('NATS is emptied');
    expect(ran.code).toBe(0);
    expect(await folder.leftBehind()).toEqual([]);
  });
});

describe('an outage of PostgreSQL, and of one of three NATS servers', () => {
  test('is measured, costs no effect and no process, and leaves nothing behind', { timeout: 200_000 }, async () => {
    const ran = await runExample(measure, ['outages', '--restarts', '1', '--json'], 190_000);

    expect(ran.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('measure: '))).toEqual([]);
    // How soon work goes on depends on the machine, and is no matter of this test.
    expect(parsed(ran.stdout)).toEqual({
      ...{ summary: 'measure-outages', ok: expect.any(Boolean), postgresRestarts: 1, natsNodesKilled: 1 },
      ...{ resumeMs: [some], operations: some, wrongCounts: 0, uncaught: 0 },
    });
    expect(await folder.leftBehind()).toEqual([]);
  });
});

describe('a measurement that is told to end', () => {
  test('leaves nothing behind, and says that it was interrupted', async () => {
    const ran = await runExample(measure, ['timers', '--json'], 9_000);

    expect(ran.code).toBe(143);
    expect(ran.stdout).toBe('');
    expect(await folder.leftBehind()).toEqual([]);
  });
});

describe('a measurement that is asked for what it cannot do', () => {
  test.each([
    { args: [], why: 'Say what is to be measured' },
    { args: ['tides'], why: 'Say what is to be measured' },
    { args: ['timers', '--timers', 'many'], why: '--timers is "many"' },
    { args: ['timers', '--mode', 'pigeon'], why: '--mode is "pigeon"' },
    { args: ['outages', '--restarts', '0'], why: '--restarts is "0"' },
    { args: ['timers', '--jsno'], why: "'--jsno'" },
  ])('shows its usage for $args', async ({ args, why }) => {
    const ran = await runExample(measure, args);

    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe('');
    expect(ran.stderr).toContain(why);
    expect(ran.stderr).toContain('Usage: npm run measure');
  });
});

describe('the measurements, asked for help', () => {
  test('print their usage and are content', async () => {
    const ran = await runExample(measure, ['--help']);

    expect(ran).toEqual({ code: 0, stdout: expect.stringMatching(/^Usage: npm run measure/), stderr: '' });
  });
});

describe('how late timers are', () => {
  test('is what half, and ninety-nine in a hundred, do not exceed', () => {
    const timers = Array.from({ length: 200 }, (_, n) => ({ dueAt: 1_000, firedAt: 1_000 + n + 1 }));

    expect(latenessOf(timers)).toEqual({ timers: 200, fired: 200, early: 0, p50Ms: 100, p99Ms: 198, maxMs: 200 });
  });

  test('counts one that is early by a microsecond, and one that has not fired', () => {
    const timers = [
      { dueAt: 1_000, firedAt: 999.999 },
      { dueAt: 1_000, firedAt: 1_000 },
      { dueAt: 1_000, firedAt: null },
    ];

    expect(latenessOf(timers)).toMatchObject({ timers: 3, fired: 2, early: 1 });
  });
});

describe('a measurement of timers', () => {
  const good = { mode: 'nats', timers: 9, fired: 9, early: 0, p50Ms: 5, p99Ms: 9, maxMs: 10 } as const;

  test('is right when all have fired and none early, and tells the worst of its rows', () => {
    const slow = { ...good, mode: 'sweep', p50Ms: 4, p99Ms: 90, maxMs: 100 } as const;

    expect(worstOf([good, slow])).toEqual({
      ...{ summary: 'measure-timers', ok: true, timers: 9, fired: 9, early: 0, p50Ms: 5, p99Ms: 90, maxMs: 100 },
    });
  });

  test.each([
    ['was early', { early: 1 }],
    ['has not fired', { fired: 8 }],
  ])('is wrong when one %s', (_, fault) => {
    expect(worstOf([good, { ...good, ...fault }])).toMatchObject({ ok: false, ...fault });
  });
});

describe('a measurement of outages', () => {
  const good = {
    ...{ postgresRestarts: 1, natsNodesKilled: 1, resumeMs: [3_000], operations: 9, wrongCounts: 0, uncaught: 0 },
  };

  test('is right when nothing is wrong and work went on within three seconds', () => {
    expect(isRight(good)).toBe(true);
  });

  test.each([
    ['an operation has a wrong count', { wrongCounts: 1 }],
    ['a process ended by itself', { uncaught: 1 }],
    ['work went on late once', { resumeMs: [10, 3_001, 10] }],
  ])('is wrong when %s', (_, fault) => {
    expect(isRight({ ...good, ...fault })).toBe(false);
  });
});

const some: unknown = expect.any(Number);

function parsed(line: string): unknown {
  return JSON.parse(line);
}
