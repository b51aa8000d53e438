/**
 * Each rehearsal is played once more on a library with the fault that it is there to find, and has to fail by an
 * assertion: one that passes on a broken library has rehearsed nothing.
 */

import { expect, test } from 'vitest';
import { defectAt, defectsIn, root } from '../defect.ts';
import { guarantees, type GuaranteeRow } from '../guarantees/guarantees.ts';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { GuaranteeDefect } from '../guarantees/guarantee.ts';

const paths = await defectsIn('test/zoo/rehearsals/defects');
const broken = await Promise.all(
  paths.map(async (path) => ({ path, defect: (await defectAt(path)) as GuaranteeDefect })),
);

test('every rehearsal has a fault of its own', async () => {
  const specs = (await readdir(join(root, 'test/spec'))).filter((name) => name.startsWith('rehearsal-'));

  expect(broken.map(({ defect }) => defect.spec).toSorted()).toEqual(
    specs.map((name) => `test/spec/${name}`).toSorted(),
  );
});

test('every rehearsal finds its fault', { timeout: 300_000 }, async () => {
  const rows: GuaranteeRow[] = [];
  const rehearsals = broken.map(({ path, defect }) => {
    return { guarantee: defect.guarantee, specs: [defect.spec], broken: { path, defect } };
  });

  await guarantees({ guarantees: rehearsals, onRow: (row) => rows.push(row) });

  expect(rows.filter(({ caught }) => !caught)).toEqual([]);
  expect(rows).toHaveLength(broken.length);
});
