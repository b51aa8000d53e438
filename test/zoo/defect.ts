/**
 * A defect is a mistake that somebody could make in the library's source, written down as what to find and what to put
 * in its place. The source itself has no switch: `loader.mjs` and `vitest.config.ts` put the mistake in as the module
 * is loaded. One whose text is not found exactly once says nothing about the library, so nothing may run with it.
 */

import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { tsImport } from 'tsx/esm/api';

/** The folder of package.json; the files of defects are named from there. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** One place of the source and what stands there instead. */
export interface Edit {
  /** Such as `src/domain/attempt.ts`. */
  readonly file: string;
  /** Exactly as it stands in the file, and only once. */
  readonly find: string;
  readonly replace: string;
}

interface Named {
  /** A sentence in kebab case, and the name of its file: `timeout-taken-for-failure`. */
  readonly name: string;
  /** One sentence: what is wrong, and whom it hurts. */
  readonly what: string;
}

export type Defect = Named & (Edit | { readonly edits: readonly Edit[] });

/** The defect cannot be put into the source as it is today. */
export class DefectUnusable extends Error {
  override readonly name = 'DefectUnusable';
}

export function editsOf(defect: Defect): readonly Edit[] {
  return 'edits' in defect ? defect.edits : [defect];
}

/** The files of the defects in a folder, by default those that the simulator must catch. */
export async function defectsIn(folder = 'test/zoo/defects'): Promise<readonly string[]> {
  const names = await readdir(resolve(root, folder));
  return names
    .filter((name) => name.endsWith('.ts'))
    .toSorted()
    .map((name) => join(folder, name));
}

/** The defect that a file exports as `defect`; a path that is not absolute counts from the repository. */
export async function defectAt(path: string): Promise<Defect> {
  const said = await exportedBy(path);
  if (isDefect(said)) return said;
  throw new DefectUnusable(`${path} exports no defect: export const defect = { name, what, file, find, replace }.`);
}

/** Also where TypeScript is not understood yet: before tsx has begun, and in a configuration that vitest loads. */
async function exportedBy(path: string): Promise<unknown> {
  try {
    const module: unknown = await tsImport(pathToFileURL(resolve(root, path)).href, import.meta.url);
    return propertyOf(module, 'defect');
  } catch (error) {
    throw new DefectUnusable(`${path} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function isDefect(said: unknown): said is Defect {
  if (typeof propertyOf(said, 'name') !== 'string' || typeof propertyOf(said, 'what') !== 'string') return false;
  const edits = propertyOf(said, 'edits') ?? [said];
  return Array.isArray(edits) && edits.length > 0 && edits.every(isEdit);
}

function isEdit(said: unknown): said is Edit {
  return ['file', 'find', 'replace'].every((name) => typeof propertyOf(said, name) === 'string');
}

function propertyOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** The sources that the defect changes, by the absolute path of their file. */
export function defectiveSources(defect: Defect): ReadonlyMap<string, string> {
  const sources = new Map<string, string>();
  for (const edit of editsOf(defect)) {
    const path = resolve(root, edit.file);
    sources.set(path, edited(defect, edit, sources.get(path) ?? sourceOf(defect, edit)));
  }
  return sources;
}

function sourceOf({ name }: Defect, { file }: Edit): string {
  try {
    return readFileSync(resolve(root, file), 'utf8');
  } catch {
    throw new DefectUnusable(`Defect ${name} cannot be put into ${file}: the file cannot be read.`);
  }
}

function edited({ name }: Defect, { file, find, replace }: Edit, source: string): string {
  const [before, after, ...more] = find === '' ? [] : source.split(find);
  if (before !== undefined && after !== undefined && more.length === 0) return before + replace + after;
  const times = find === '' ? 'nowhere, being empty' : `${source.split(find).length - 1} times`;
  throw new DefectUnusable(
    `Defect ${name} cannot be put into ${file}: its text must stand there once and stands there ${times}: ` +
      JSON.stringify(find),
  );
}
