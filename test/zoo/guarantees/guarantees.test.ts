import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runExample } from '../../examples/run-example.ts';
import { inAFolderOfItsOwn } from '../../support/left-behind.ts';
import { until } from '../../support/world.ts';
import type { Edit } from '../defect.ts';
import { builtGuarantees, type Guarantee, type GuaranteeDefect } from './guarantee.ts';
import { guarantees, type GuaranteeRow } from './guarantees.ts';
import { flawOf, verdictOn } from './verdict.ts';

const command = 'test/zoo/guarantees/main.ts';
const spec = 'test/domain/backoff.test.ts';
const file = 'src/domain/backoff.ts';

const folder = inAFolderOfItsOwn();

async function brokenBy(guarantee: string, name: string, edit: Partial<Edit>): Promise<Guarantee> {
  const defect = { name, what: 'It is wrong.', file, find: '', replace: '', ...edit, guarantee, spec };
  return { guarantee, specs: [spec], broken: { path: await written(guarantee, defect), defect } };
}

async function written(name: string, defect: GuaranteeDefect): Promise<string> {
  const path = join(folder.path, `${name}.ts`);
  await writeFile(path, `export const defect: unknown = ${JSON.stringify(defect)};\n`);
  return path;
}

describe('guarantees that are broken, each in another way', () => {
  test('are told apart: noticed, not noticed, and not tried at all, with the reason', {
    timeout: 180_000,
  }, async () => {
    const rows: GuaranteeRow[] = [];
    const all = [
      await brokenBy('G1', 'delays-grow-too-fast', { find: '2 ** doublings', replace: '3 ** doublings' }),
      await brokenBy('G2', 'text-is-not-there', { find: '5 ** doublings', replace: '' }),
      await brokenBy('G3', 'syntax-is-broken', { find: 'function grown(', replace: 'function grown((' }),
      await brokenBy('G4', 'nobody-notices', { find: 'attempt - 1, 1000', replace: 'attempt - 1, 999' }),
      await brokenBy('G5', 'never-loaded', {
        file: 'src/domain/canonical.ts',
        find: 'export function fingerprintOf',
        replace: 'function fingerprintOf',
      }),
      { guarantee: 'G6', specs: [spec], broken: null },
    ];

    const end = await guarantees({ guarantees: all, onRow: (row) => rows.push(row) });

    const told = rows.toSorted((a, b) => (a.guarantee < b.guarantee ? -1 : 1));
    const unnoticed = { spec, caught: false };
    expect(told).toEqual([
      { guarantee: 'G1', defect: 'delays-grow-too-fast', spec, caught: true, by: expect.stringContaining('doubles') },
      {
        ...unnoticed,
        guarantee: 'G2',
        defect: 'text-is-not-there',
        why: expect.stringContaining('stands there 0 times'),
      },
      {
        ...unnoticed,
        guarantee: 'G3',
        defect: 'syntax-is-broken',
        why: expect.stringContaining('did not get to its tests'),
      },
      {
        ...unnoticed,
        guarantee: 'G4',
        defect: 'nobody-notices',
        why: expect.stringMatching(/^all \d+ tests of the spec passed$/),
      },
      { ...unnoticed, guarantee: 'G5', defect: 'never-loaded', why: 'the spec never loads src/domain/canonical.ts' },
      { ...unnoticed, guarantee: 'G6', defect: null, why: 'no defect breaks it' },
    ]);
    expect(end).toEqual({
      summary: { summary: 'sim-guarantees', ok: false, guarantees: 6, caught: 1 },
      exitCode: 1,
    });
    expect(await folder.leftBehind()).toEqual([]);
  });
});

const passed = { spec, tests: 2, failed: [], broken: null };

function failedWith(...messages: string[]) {
  return { ...passed, failed: [{ title: 'a delay doubles', messages }] };
}

describe('a test that failed', () => {
  test.each([
    ['an assertion', 'AssertionError: expected 1 to be 2 // Object.is equality\n    at a.ts:1'],
    ['an assertion about a rejection', 'Error: expected SagacityError: no to match object { code: 1 }\n    at a.ts:1'],
    ['a call that did not reject', 'Error: promise resolved "{\n  a: 1 }" instead of rejecting\n    at a.ts:1'],
    ['a wait that ended', 'Error: Waited 10 seconds for operation op_1 to be succeeded.\n    at until (world.ts:1)'],
  ])('by %s has caught the defect', (_, message) => {
    expect(verdictOn(failedWith(message))).toEqual({ type: 'caught', by: 'a delay doubles' });
  });

  test.each([
    ['what the library threw', 'SagacityError: The store did not answer.'],
    ['its time-out', 'Error: Test timed out in 30000ms.'],
  ])('by %s has judged nothing', (_, message) => {
    expect(verdictOn(failedWith(message))).toEqual({
      type: 'unnoticed',
      why: `no assertion failed; a test ended in ${message}`,
    });
  });

  test('by an assertion says nothing when another one could not be carried out', () => {
    const broken = { title: 'a delay ends', messages: ['ReferenceError: grown is not defined'] };
    const { failed } = failedWith('AssertionError: expected 1 to be 2');

    const verdict = verdictOn({ ...passed, failed: [...failed, broken] });

    expect(verdict).toEqual({
      type: 'could-not-run',
      why: 'the defect breaks the code: ReferenceError: grown is not defined',
    });
  });
});

describe('a spec that fails without a defect', () => {
  test('is no ground to judge from', () => {
    expect(flawOf(failedWith('AssertionError: expected 1 to be 2'))).toContain('fails without the defect as well');
    expect(flawOf({ ...passed, broken: 'Cannot find module' })).toContain('does not run without the defect either');
    expect(flawOf(passed)).toBeNull();
  });
});

describe('the defects of a folder', () => {
  const defect = { name: 'delays-grow', what: 'It is wrong.', file, find: '', replace: '', guarantee: 'G1', spec };

  /** A README with a table of one guarantee that is proven, and one that is not. */
  async function readme(): Promise<string> {
    const path = join(folder.path, 'README.md');
    await writeFile(path, `| G1 | Delays double. | [spec](${spec}) |\n| G9 | It is compensated. | not yet |\n`);
    return path;
  }

  test('are those of the guarantees that are proven, and of no others', async () => {
    const path = await written('g1', defect);

    const built = await builtGuarantees(folder.path, await readme());

    expect(built).toEqual([{ guarantee: 'G1', specs: [spec], broken: { path, defect } }]);
  });

  test('are refused when two break one guarantee', async () => {
    await written('g1', defect);
    await written('g1-again', defect);

    await expect(builtGuarantees(folder.path, await readme())).rejects.toThrow('is the second defect that breaks G1');
  });

  test('are refused when the README does not link their spec', async () => {
    await written('g9', { ...defect, guarantee: 'G9' });

    await expect(builtGuarantees(folder.path, await readme())).rejects.toThrow(`does not link ${spec} to G9`);
  });
});

describe('the command', () => {
  test('shows its usage when asked, and for what it does not know', async () => {
    const [asked, wrong] = await Promise.all([runExample(command, ['--help']), runExample(command, ['--all'])]);

    expect(asked).toEqual({ code: 0, stdout: expect.stringMatching(/^Usage: node /), stderr: '' });
    expect(wrong).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining('Usage: node ') });
  });

  test('that is told to end says nothing more and leaves nothing behind', async () => {
    const ran = await runExample(command, ['--json'], 6_000);

    expect({ ...ran, stderr: '' }).toEqual({ code: 143, stdout: '', stderr: '' });
    // Vitest has no time to close its PostgreSQL server, whose guard does it then.
    await until(async () => ((await folder.leftBehind()).length === 0 ? true : null), 'everything to be gone', 30_000);
  });
});
