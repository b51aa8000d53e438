/**
 * Each guarantee of the README is broken here once, by a defect of its own, and a specification that the README links
 * to it has to notice. The README is the authority on what is guaranteed and where that is proven.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Defect, defectAt, defectsIn, DefectUnusable, root } from '../defect.ts';

export type GuaranteeDefect = Defect & {
  /** Such as `G1`. */
  readonly guarantee: string;
  /** The specification that must fail, one of those the README links: `test/spec/....test.ts`. */
  readonly spec: string;
};

/** A guarantee, the specifications that prove it, and the file of the defect that breaks it (null: there is none). */
export interface Guarantee {
  readonly guarantee: string;
  readonly specs: readonly string[];
  readonly broken: { readonly path: string; readonly defect: GuaranteeDefect } | null;
}

const ours = 'test/zoo/guarantees/defects';

/** The guarantees that the README links to a specification, each with its defect out of `folder`. */
export async function builtGuarantees(
  folder: string = ours,
  readme: string = join(root, 'README.md'),
): Promise<readonly Guarantee[]> {
  const proofs = proofsIn(await readFile(readme, 'utf8'));
  const paths = await defectsIn(folder);
  const broken = await Promise.all(paths.map(async (path) => ({ path, defect: await guaranteeDefectAt(path) })));
  for (const [n, { path, defect }] of broken.entries()) {
    const { guarantee, spec } = defect;
    const isLinked = proofs.get(guarantee)?.includes(spec) ?? false;
    if (!isLinked) throw new DefectUnusable(`${path}: the README does not link ${spec} to ${guarantee}.`);
    const isSecond = broken.findIndex((other) => other.defect.guarantee === guarantee) < n;
    if (isSecond)
      throw new DefectUnusable(`${path} is the second defect that breaks ${guarantee}. Each is broken once.`);
  }
  return [...proofs].map(([guarantee, specs]) => ({
    ...{ guarantee, specs },
    broken: broken.find(({ defect }) => defect.guarantee === guarantee) ?? null,
  }));
}

/** The specifications by guarantee, out of the rows of the README's table that link any. */
function proofsIn(readme: string): ReadonlyMap<string, readonly string[]> {
  const proofs = new Map<string, readonly string[]>();
  for (const [row, guarantee = ''] of readme.matchAll(/^\| (G\d+) \|.*$/gm)) {
    const specs = [...row.matchAll(/\((test\/[^)]+)\)/g)].map(([, spec = '']) => spec);
    if (specs.length > 0) proofs.set(guarantee, specs);
  }
  return proofs;
}

async function guaranteeDefectAt(path: string): Promise<GuaranteeDefect> {
  const defect = await defectAt(path);
  if (breaksGuarantee(defect)) return defect;
  throw new DefectUnusable(`${path} does not say which guarantee it breaks, and which spec must notice.`);
}

function breaksGuarantee(defect: Defect): defect is GuaranteeDefect {
  return typeof Reflect.get(defect, 'guarantee') === 'string' && typeof Reflect.get(defect, 'spec') === 'string';
}
