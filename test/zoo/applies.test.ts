import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import ts from 'typescript-5.9';
import { beforeAll, describe, expect, test } from 'vitest';
import { defectAt, defectiveSources, defectsIn, editsOf, root } from './defect.ts';
import { builtGuarantees } from './guarantees/guarantee.ts';
import { type Complaints, typedSources } from './typed-sources.ts';

const zoo = await defectsIn();
const broken = await defectsIn('test/zoo/guarantees/defects');
const rehearsed = await defectsIn('test/zoo/rehearsals/defects');

let complaints: Complaints;
beforeAll(async () => {
  complaints = typedSources();
  const index = join(root, 'src/index.ts');
  // So that all of the library is read here, and not in the time of the first test.
  complaints(index, await readFile(index, 'utf8'));
});

describe.each([...zoo, ...broken, ...rehearsed])('the defect of %s', (path) => {
  test('stands once in the source, and leaves code that runs and does something else', async () => {
    const defect = await defectAt(path);

    const changed = defectiveSources(defect);

    expect(editsOf(defect).filter(({ file }) => !/^(src|machines)\//.test(file))).toEqual([]);
    for (const [file, source] of changed) {
      expect(complaints(file, source)).toEqual([]);
      expect(stripped(source)).not.toBe(stripped(await readFile(file, 'utf8')));
    }
  });
});

describe('a defect of the zoo', () => {
  test.each(zoo)('is named like its file, and told in a sentence: %s', async (path) => {
    const { name, what } = await defectAt(path);

    expect(`${name}.ts`).toBe(basename(path));
    expect(name).toMatch(/^[a-z]+(-[a-z]+)+$/);
    expect(what).toMatch(/^[A-Z].+\.$/);
  });
});

describe('the guarantees that the README links to a spec', () => {
  test('are broken once each', async () => {
    const guarantees = await builtGuarantees();

    expect(guarantees.filter((guarantee) => guarantee.broken === null)).toEqual([]);
    expect(guarantees).toHaveLength(broken.length);
  });
});

/** What is left to run: no types, no comments, one way of writing. */
function stripped(source: string): string {
  return ts.transpile(source, {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    removeComments: true,
    verbatimModuleSyntax: true,
  });
}
