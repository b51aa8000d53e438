/**
 * The defect that this process was started with, if it was: named by `SAGACITY_DEFECT`, the path of its file. Whoever
 * loads modules here puts it in, and notes that it did in the file of `SAGACITY_DEFECT_LOADED`, so that a run in which
 * the mistake was never met is not taken for one that withstood it.
 */

import { defectAt, defectiveSources, DefectUnusable } from './defect.ts';

/** Goes before tsx among the `--import` of a process that shall have the defect. */
export const loader = new URL('loader.mjs', import.meta.url).href;

export const PATH = 'SAGACITY_DEFECT';
export const LOADED = 'SAGACITY_DEFECT_LOADED';

export interface Planted {
  /** Instead of what is in the files of these paths. */
  readonly sources: ReadonlyMap<string, string>;
  /** Where the path of each file is noted as it is loaded; null: nobody asks. */
  readonly noteIn: string | null;
}

/** Null without a defect. One that cannot be put in ends the process: exit code 2, and one line on stderr. */
export async function plantedHere(): Promise<Planted | null> {
  const path = process.env[PATH];
  if (path === undefined || path === '') return null;
  try {
    return { sources: defectiveSources(await defectAt(path)), noteIn: process.env[LOADED] ?? null };
  } catch (error) {
    if (!(error instanceof DefectUnusable)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(2);
  }
}
