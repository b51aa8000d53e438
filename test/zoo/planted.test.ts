import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Defect, root } from './defect.ts';
import { nodeArguments, plant, type Plant } from './plant.ts';
import { PATH } from './planted.ts';

let folder: string;
let planted: Plant | null = null;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sagacity-zoo-'));
});
afterEach(async () => {
  await planted?.remove();
  planted = null;
  await rm(folder, { recursive: true, force: true });
});

const backoff = 'src/domain/backoff.ts';
const tripling: Defect = {
  ...{ name: 'delays-grow-too-fast', what: 'Delays are tripled.', file: backoff },
  ...{ find: 'retry.delayMs * 2 ** doublings', replace: 'retry.delayMs * 3 ** doublings' },
};

async function defectFile(defect: unknown): Promise<string> {
  const path = join(folder, 'defect.ts');
  await writeFile(path, `export const defect: unknown = ${JSON.stringify(defect)};\n`);
  return path;
}

/** A program that prints the delay after the third of attempts that are a second apart at first. */
async function delaying(): Promise<string> {
  const path = join(folder, 'delaying.mts');
  const retry = { attempts: 9, backoff: 'exponential', delayMs: 1000, maxDelayMs: 60_000, jitter: 'none' };
  await writeFile(
    path,
    `import { backoffMs } from ${JSON.stringify(pathToFileURL(join(root, backoff)))};\n` +
      `console.log(backoffMs(${JSON.stringify(retry)} as const, 3, 0));\n`,
  );
  return path;
}

async function ran(script: string, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [...nodeArguments, script], { cwd: root, env: { ...process.env, ...env } });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: Number(code), stdout, stderr };
}

describe('a process that is started with a defect', () => {
  test('has it from the loading of the module on, and the source stays as it is', async () => {
    const script = await delaying();
    const before = await readFile(join(root, backoff), 'utf8');
    planted = await plant(await defectFile(tripling));

    const sound = await ran(script, {});
    const mistaken = await ran(script, planted.env);

    expect([sound, mistaken]).toEqual([
      { code: 0, stdout: '4000\n', stderr: '' },
      { code: 0, stdout: '9000\n', stderr: '' },
    ]);
    expect(await planted.unmet()).toEqual([]);
    expect(await readFile(join(root, backoff), 'utf8')).toBe(before);
  });

  test('has all edits of it, one after the other', async () => {
    const slower = { file: backoff, find: '3 ** doublings', replace: '3 ** doublings * 2' };
    const { name, what, ...first } = tripling;
    planted = await plant(await defectFile({ name, what, edits: [first, slower] }));

    const { stdout } = await ran(await delaying(), planted.env);

    expect(stdout).toBe('18000\n');
  });

  test('and never loads its module, is known to have proven nothing', async () => {
    planted = await plant(
      await defectFile({ ...tripling, file: 'src/domain/duration.ts', find: 'export type', replace: 'type' }),
    );

    const { code } = await ran(await delaying(), planted.env);

    expect(code).toBe(0);
    expect(await planted.unmet()).toEqual(['src/domain/duration.ts']);
  });
});

describe('a defect that does not fit the source', () => {
  test.each([
    ['is not there', { find: 'retry.delayMs * 5' }, 'stands there 0 times: "retry.delayMs * 5"'],
    ['is there twice', { find: 'doublings' }, 'stands there 2 times: "doublings"'],
    ['is empty', { find: '' }, 'stands there nowhere, being empty: ""'],
  ])('as its text %s, ends the process with exit code 2 and one line', async (_, edit, complaint) => {
    const path = await defectFile({ ...tripling, ...edit });

    const end = await ran(await delaying(), { [PATH]: path });

    expect(end).toEqual({
      code: 2,
      stdout: '',
      stderr: `Defect delays-grow-too-fast cannot be put into ${backoff}: its text must stand there once and ${complaint}\n`,
    });
    await expect(plant(path)).rejects.toThrow(complaint);
  });

  test.each([
    ['the file is not there', { ...tripling, file: 'src/no-such.ts' }, 'src/no-such.ts: the file cannot be read.\n'],
    [
      'it is none',
      { name: 'delays-grow-too-fast' },
      'exports no defect: export const defect = { name, what, file, find, replace }.\n',
    ],
  ])('as %s, ends the process with exit code 2 and one line', async (_, said, complaint) => {
    const path = await defectFile(said);

    const end = await ran(await delaying(), { [PATH]: path });

    expect(end).toEqual({ code: 2, stdout: '', stderr: expect.stringContaining(complaint) });
    expect(end.stderr.trimEnd().split('\n')).toHaveLength(1);
  });
});
