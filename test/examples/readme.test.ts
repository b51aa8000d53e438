import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { operationMachine } from 'sagacity/xstate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const readme = await readFile(join(root, 'README.md'), 'utf8');
const lines = readme.trimEnd().split('\n');

/** What the README takes for granted: the companies its shop calls, and the shop's own database. */
const companies = `
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { pgTable, text } from 'drizzle-orm/pg-core';
declare const db: NodePgDatabase;
const orders = pgTable('orders', { id: text() });
declare const bank: {
  charge(
    amount: number,
    options: { idempotencyKey: string; signal: AbortSignal },
  ): Promise<{ refused: boolean; id: string }>;
  chargeByKey(key: string): Promise<{ id: string } | null>;
};
declare const warehouse: {
  reserve(orderId: string, key: string): Promise<{ reservationId: string } | null>;
  release(reservationId: string, key: string): Promise<{ released: boolean }>;
};
interface Order {
  readonly orderId: string;
  readonly amount: number;
  readonly to: string;
}
declare const mail: { send(to: string, options: { signal: AbortSignal }): Promise<void> };
`;

describe('the TypeScript of the README', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sagacity-readme-'));
    await mkdir(join(folder, 'node_modules'));
    await symlink(root, join(folder, 'node_modules', 'sagacity'));
    for (const peer of ['drizzle-orm', 'xstate', '@types', 'pg']) {
      await symlink(join(root, 'node_modules', peer), join(folder, 'node_modules', peer));
    }
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('is one program, read from top to bottom, that the compiler accepts', async () => {
    const blocks = fenced('ts');
    const misuse = [
      "import { operation, succeeded, typed } from 'sagacity';",
      "export const wrong = operation('card.charge', { input: typed<string>(), execute: () => succeeded(1) });",
    ].join('\n');
    await writeFile(join(folder, 'readme.ts'), [companies, ...blocks].join('\n'));
    await writeFile(join(folder, 'misuse.ts'), misuse);

    const complaints = await compile(folder);

    expect(blocks.length).toBeGreaterThan(3);
    // A compiler that complains about nothing would have proven nothing: the planted mistake, and only that, is found.
    expect(complaints).toEqual([expect.stringContaining('misuse.ts(2,')]);
    expect(complaints[0]).toContain(': keyRetention, lookup');
  });

  test('is in no block that escapes this check', () => {
    const languages = [...readme.matchAll(/^```(\S+)/gm)].map(([, language]) => language);

    expect(new Set(languages)).toEqual(new Set(['ts', 'sh', 'mermaid']));
    expect([...readme.matchAll(/^```/gm)]).toHaveLength(2 * languages.length);
  });
});

describe('a reader of the README', () => {
  test('sees code by line 12 and is done after 250 lines', () => {
    expect(lines.indexOf('```ts') + 1).toBeLessThanOrEqual(12);
    expect(lines.length).toBeGreaterThanOrEqual(150);
    expect(lines.length).toBeLessThanOrEqual(250);
  });

  test('finds a file or a heading behind every link', () => {
    const targets = [...readme.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    const headings = lines.filter((line) => /^#+ /.test(line)).map(anchorOf);

    const dead = targets.filter((target) => {
      if (/^https?:/.test(target)) return false;
      return target.startsWith('#') ? !headings.includes(target) : !existsSync(join(root, target));
    });

    expect(targets.length).toBeGreaterThan(10);
    expect(dead).toEqual([]);
  });

  test('finds a row for each of the fourteen guarantees', () => {
    const rows = lines.filter((line) => /^\| G\d/.test(line)).map((line) => line.split('|').map((cell) => cell.trim()));

    expect(rows.map(([, name]) => name)).toEqual(Array.from({ length: 14 }, (_, index) => `G${index + 1}`));
    for (const [, , , proof] of rows) {
      expect(proof).toMatch(/^(\[spec\]\(test\/spec\/[a-z-]+\.test\.ts\)|not yet in this version)$/);
    }
  });

  test('finds every code that an error can have, and no other', async () => {
    const source = await readFile(join(root, 'src/domain/errors.ts'), 'utf8');
    const [, union = ''] = /export type ErrorCode =([^;]+);/.exec(source) ?? [];
    const codes = [...union.matchAll(/'([A-Z_]+)'/g)].map(([, code]) => code);

    const told = lines.flatMap((line) => /^\| `([A-Z_]+)` \|/.exec(line)?.[1] ?? []);

    expect(codes.length).toBeGreaterThan(5);
    expect(told).toEqual(codes);
  });

  test('sees the chart that runs: the same arrows, no more and no less', () => {
    const [chart = ''] = fenced('mermaid');
    const aliases = new Map(
      [...chart.matchAll(/^ *state "([^"]+)" as (\S+)$/gm)].map(([, name = '', alias = '']) => [alias, name]),
    );
    const nameOf = (id: string) => aliases.get(id) ?? id;
    const drawn = [...chart.matchAll(/^ *(\S+) --> (\S+?)(?:: [^:;]+)?$/gm)].map(
      ([, from = '', to = '']) => `${nameOf(from)} --> ${nameOf(to)}`,
    );

    expect(drawn).toHaveLength(new Set(drawn).size);
    expect(drawn.toSorted()).toEqual(arrowsOf(operationMachine.config).toSorted());
  });
});

function fenced(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, code = '']) => code,
  );
}

/** How a Markdown page names the place of a heading. */
function anchorOf(heading: string): string {
  const words = heading.replace(/^#+ /, '').toLowerCase();
  return `#${words.replace(/[^\p{L}\p{N} -]/gu, '').replaceAll(' ', '-')}`;
}

/** What the compiler says about the folder's files, a line each. */
async function compile(folder: string): Promise<string[]> {
  const project = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: { typeRoots: [join(root, 'node_modules/@types')], noUnusedLocals: false },
    include: [],
    files: ['readme.ts', 'misuse.ts'],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(project));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [tsc, '--project', folder, '--pretty', 'false'], { cwd: folder }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
  // Continuation lines are indented.
  return output
    .trim()
    .split(/\n(?! )/)
    .filter((complaint) => complaint !== '');
}

/** The parts of a chart's configuration in which arrows are written. */
interface Chart {
  readonly initial?: unknown;
  readonly states?: unknown;
}

function arrowsOf({ initial, states }: Chart): string[] {
  const arrows = new Set([`[*] --> ${String(initial)}`]);
  for (const [from, state] of Object.entries(asRecord(states))) {
    const { on, always, after, invoke } = asRecord(state);
    const { onDone, onError } = asRecord(invoke);
    const written = [always, onDone, onError, ...Object.values(asRecord(on)), ...Object.values(asRecord(after))];
    for (const to of written.flat().flatMap(targetOf)) arrows.add(`${from} --> ${to}`);
  }
  return [...arrows];
}

function targetOf(transition: unknown): string[] {
  if (typeof transition === 'string') return [transition];
  const { target } = asRecord(transition);
  return typeof target === 'string' ? [target] : [];
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
