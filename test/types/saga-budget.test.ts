/**
 * What a saga costs the people who compile it, counted by the compilers themselves. A chain is typed step by step, each
 * with all that is known by then, so its price grows faster than its length; what could go wrong is a change of the
 * types that makes a long saga slow to write. Counts do not depend on the machine, so they are compared exactly.
 */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'sagacity-budget-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

const compilers = { '7': 'typescript', '5.9': 'typescript-5.9' };
type Compiler = keyof typeof compilers;

/** What the compiler says about one file, with this repository's settings. It has nothing to complain about. */
function compile(file: string, compiler: Compiler): Promise<string> {
  const project = join(work, `${compiler}.json`);
  const typeRoots = [join(root, 'node_modules/@types')];
  writeFileSync(
    project,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      include: [],
      files: [file],
      compilerOptions: { typeRoots },
    }),
  );
  const tsc = join(root, 'node_modules', compilers[compiler], 'bin/tsc');
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [tsc, '--project', project, '--extendedDiagnostics'], (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new Error(stdout, { cause: error }));
    });
  });
}

/** A saga of so many steps, each with an inverse and a look at the step before. */
function sagaOf(steps: number): string {
  const from = (path: string) => JSON.stringify(relative(work, join(root, path)));
  const chain = Array.from({ length: steps }, (_, index) =>
    index === 0
      ? `.step('s0', authorisePayment, ({ input }) => ({ orderId: input.orderId, amount: input.total }))`
      : `.step('s${index}', authorisePayment, ({ input, s${index - 1} }) => ({ orderId: s${index - 1}.paymentId, amount: input.total }))`,
  );
  return `
import { saga } from ${from('src/define/saga.ts')};
import { typed } from ${from('src/define/schema.ts')};
import { authorisePayment, type Order } from ${from('test/support/fulfilment.ts')};
export const used = authorisePayment;
export const long = saga('long', { input: typed<Order>(), key: ({ input }) => input.orderId })
${chain.join('\n')};
`;
}

async function instantiationsOf(steps: number, compiler: Compiler): Promise<number> {
  const file = join(work, `steps-${steps}.mts`);
  writeFileSync(file, sagaOf(steps));
  const [, count] = /Instantiations:\s+(\d+)/.exec(await compile(file, compiler)) ?? [];
  return Number(count);
}

describe.each<{ compiler: Compiler; budgets: readonly (readonly [steps: number, instantiations: number])[] }>([
  {
    compiler: '7',
    budgets: [
      [5, 5_000],
      [20, 25_000],
      [40, 75_000],
    ],
  },
  { compiler: '5.9', budgets: [[20, 25_000]] },
])('TypeScript $compiler', ({ compiler, budgets }) => {
  test('types a saga within its budget', async () => {
    const baseline = await instantiationsOf(0, compiler);

    for (const [steps, budget] of budgets) {
      const cost = (await instantiationsOf(steps, compiler)) - baseline;
      expect(cost, `${steps} steps`).toBeGreaterThan(steps);
      expect(cost, `${steps} steps`).toBeLessThan(budget);
    }
  });

  test('infers and refuses what the type tests say', async () => {
    const checked = await compile(join(root, 'test/types/saga.test-d.ts'), compiler);

    expect(checked).toContain('Instantiations');
  });
});
