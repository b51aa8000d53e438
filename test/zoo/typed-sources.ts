/**
 * The library as the compiler sees it, with one file at a time replaced. A defect that does not compile is no mistake
 * that anybody could ship, and one that calls what is not there is caught by everything; both would prove nothing.
 */

import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript-5.9';
import { root } from './defect.ts';

/** What the compiler says of the file of this path, with this text. */
export type Complaints = (path: string, text: string) => readonly string[];

/** A defect may well leave something behind that nobody uses any more. */
const unused = new Set([6133, 6138, 6192, 6196, 6198]);

export function typedSources(): Complaints {
  const { options, fileNames } = configuration();
  const versions = new Map<string, number>();
  let replaced: { readonly path: string; readonly text: string } | null = null;
  const service = ts.createLanguageService({
    fileExists: (path) => ts.sys.fileExists(path),
    readFile: (path) => ts.sys.readFile(path),
    getCompilationSettings: () => options,
    getScriptFileNames: () => fileNames.filter((path) => /^(src|machines)\//.test(relative(root, path))),
    getScriptVersion: (path) => String(versions.get(path) ?? 0),
    getScriptSnapshot(path) {
      const text = path === replaced?.path ? replaced.text : ts.sys.readFile(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  });
  const replace = (path: string, text: string) => {
    replaced = { path, text };
    versions.set(path, (versions.get(path) ?? 0) + 1);
  };
  const said = new Map<string, readonly string[]>();
  return (path, text) => {
    const known = said.get(path + text);
    if (known !== undefined) return known;
    replace(path, text);
    const complaints = [...service.getSyntacticDiagnostics(path), ...service.getSemanticDiagnostics(path)]
      .filter(({ code }) => !unused.has(code))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
    replace(path, readFileSync(path, 'utf8'));
    said.set(path + text, complaints);
    return complaints;
  };
}

function configuration(): ts.ParsedCommandLine {
  const path = join(root, 'tsconfig.json');
  const unreadable = (what: string) => new Error(`${path} cannot be read: ${what}`);
  const read = ts.getParsedCommandLineOfConfigFile(path, undefined, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic({ messageText }) {
      throw unreadable(ts.flattenDiagnosticMessageText(messageText, '\n'));
    },
  });
  if (read === undefined) throw unreadable('it holds nothing');
  return read;
}
