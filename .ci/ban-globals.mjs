// Bans clocks, timers and randomness from src/ and machines/: time and chance come in through the ports, so that a
// test can hold them still and a decision can be repeated. Only the adapter that is the real clock (src/adapters/local)
// and the published test kit (src/testing) may touch the real ones. The check reads syntax alone: a local name that
// equals a banned global is reported as well, and deserves another name.
//
// `new Date(ms)`, `Date.parse`, `Date.UTC`, `Date.prototype` and `instanceof Date` depend on nothing but their
// arguments and stay.
//
// Usage: node .ci/ban-globals.mjs [--self-test] [FOLDER]

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript-5.9';

const searched = ['src', 'machines'];
const exempt = ['src/adapters/local/', 'src/testing/'];

const bannedGlobals = new Set(['performance', 'setTimeout', 'setInterval', 'setImmediate']);

/** Globals of which only some members are banned. Whatever takes the whole object could reach those, and is banned. */
const bannedMembers = new Map([
  ['Math', new Set(['random'])],
  ['process', new Set(['hrtime', 'uptime'])],
  ['crypto', new Set(['randomUUID', 'getRandomValues'])],
  ['AbortSignal', new Set(['timeout'])],
]);

/** What of Date depends on nothing but its arguments. */
const pureDateMembers = new Set(['parse', 'UTC', 'prototype']);

const bannedModules = new Set(['timers', 'timers/promises', 'perf_hooks']);

const bannedNames = new Map([
  [
    'crypto',
    new Set([
      'randomBytes',
      'pseudoRandomBytes',
      'randomFill',
      'randomFillSync',
      'randomInt',
      'randomUUID',
      'getRandomValues',
      'webcrypto',
    ]),
  ],
  ['process', new Set(['hrtime', 'uptime'])],
]);

const globalObjects = new Set(['globalThis', 'global']);

if (process.argv.includes('--self-test')) {
  selfTest();
} else {
  const folder = process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url));
  const violations = filesBelow(folder).flatMap((file) => {
    const name = relative(folder, file).split(sep).join('/');
    return exempt.some((prefix) => name.startsWith(prefix)) ? [] : violationsIn(name, readFileSync(file, 'utf8'));
  });
  for (const { file, line, what } of violations) {
    console.log(`${file}:${line}: ${what} is a clock, a timer or chance; take it from a port (Clock, Random)`);
  }
  process.exitCode = violations.length === 0 ? 0 : 1;
}

function filesBelow(folder) {
  const present = searched.filter((top) => existsSync(join(folder, top)));
  return present.flatMap((top) =>
    readdirSync(join(folder, top), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.[cm]?tsx?$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name)),
  );
}

function violationsIn(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true);
  const found = [];
  const report = (node, what) => {
    found.push({ file, line: source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1, what });
  };
  const visit = (node) => {
    if (ts.isTypeNode(node) && !ts.isExpressionWithTypeArguments(node)) return;
    checkModule(node, report);
    const name = globalNamedBy(node);
    if (name !== undefined) checkGlobal(node, name, report);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function checkModule(node, report) {
  if (ts.isImportDeclaration(node) || (ts.isExportDeclaration(node) && node.moduleSpecifier)) {
    const module = bare(node.moduleSpecifier.text);
    const clause = ts.isImportDeclaration(node) ? node.importClause : node.exportClause;
    const typesOnly = ts.isImportDeclaration(node) ? clause?.isTypeOnly : node.isTypeOnly;
    if (typesOnly) return;
    if (bannedModules.has(module)) report(node, `the module ${node.moduleSpecifier.text}`);
    const names = bannedNames.get(module);
    if (names === undefined) return;
    const list = ts.isImportDeclaration(node) ? clause?.namedBindings : clause;
    const wholeModule =
      list === undefined || ts.isNamespaceImport(list) || ts.isNamespaceExport(list) || clause.name !== undefined;
    if (wholeModule) {
      report(node, `all of ${node.moduleSpecifier.text} (name what you need)`);
      return;
    }
    for (const element of list.elements) {
      const imported = (element.propertyName ?? element.name).text;
      if (names.has(imported)) report(element, `${imported} of ${node.moduleSpecifier.text}`);
    }
  }
  const isRequire = ts.isCallExpression(node) && node.expression.getText() === 'require';
  if (ts.isCallExpression(node) && (isRequire || node.expression.kind === ts.SyntaxKind.ImportKeyword)) {
    const [argument] = node.arguments;
    if (argument === undefined || !ts.isStringLiteralLike(argument)) return;
    const module = bare(argument.text);
    if (bannedModules.has(module) || bannedNames.has(module)) report(node, `the module ${argument.text}`);
  }
}

function bare(specifier) {
  return specifier.replace(/^node:/, '');
}

/** `Date`, `globalThis.Date` and `globalThis['Date']` all name the global Date. */
function globalNamedBy(node) {
  if (ts.isIdentifier(node)) return isReference(node) ? node.text : undefined;
  const member = memberOf(node);
  const isOfGlobal = member !== undefined && ts.isIdentifier(member.object) && globalObjects.has(member.object.text);
  return isOfGlobal ? member.name : undefined;
}

function checkGlobal(node, name, report) {
  if (bannedGlobals.has(name)) return report(node, name);
  const { parent } = node;
  const member = memberOf(parent);
  const used = member !== undefined && member.object === node ? member : undefined;
  if (name === 'Date') {
    const fromArguments = ts.isNewExpression(parent) && parent.expression === node && parent.arguments?.length > 0;
    const pure = used !== undefined && pureDateMembers.has(used.name);
    if (!fromArguments && !pure && !isTested(node)) report(node, used ? `Date.${used.name}` : describeDate(node));
    return;
  }
  if (globalObjects.has(name) && isTakenApart(node)) return report(node, `the whole of ${name}`);
  const members = bannedMembers.get(name);
  if (members === undefined) return;
  if (used === undefined) {
    if (!isTested(node)) report(node, `the whole of ${name}`);
  } else if (used.name === undefined || members.has(used.name)) {
    report(node, `${name}.${used.name ?? '[...]'}`);
  }
}

function describeDate(node) {
  if (ts.isNewExpression(node.parent)) return 'new Date()';
  return ts.isCallExpression(node.parent) ? 'Date()' : 'the whole of Date';
}

/** `const { setTimeout } = globalThis`; other uses of the global object name no member that is banned. */
function isTakenApart(node) {
  let value = node;
  while (ts.isAsExpression(value.parent) || ts.isParenthesizedExpression(value.parent)) value = value.parent;
  const { parent } = value;
  return ts.isVariableDeclaration(parent) && parent.initializer === value && ts.isObjectBindingPattern(parent.name);
}

/** `x instanceof Date` and `typeof crypto` read nothing. */
function isTested(node) {
  const { parent } = node;
  if (ts.isTypeOfExpression(parent)) return true;
  return (
    ts.isBinaryExpression(parent) &&
    parent.right === node &&
    parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword
  );
}

function memberOf(node) {
  if (ts.isPropertyAccessExpression(node)) return { object: node.expression, name: node.name.text };
  if (!ts.isElementAccessExpression(node)) return undefined;
  const { argumentExpression } = node;
  return {
    object: node.expression,
    name: ts.isStringLiteralLike(argumentExpression) ? argumentExpression.text : undefined,
  };
}

/** Whether an identifier reads a variable, and does not merely name a member, a declaration or a binding. */
function isReference(node) {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isNamespaceImport(parent)) return false;
  if (ts.isExportSpecifier(parent)) return false;
  if (ts.isLabeledStatement(parent) || ts.isBreakOrContinueStatement(parent) || ts.isMetaProperty(parent)) return false;
  const isNameOfParent = parent.name === node && !ts.isPropertyAccessExpression(parent);
  return !isNameOfParent;
}

function selfTest() {
  const planted = {
    'Date.now': 'export const at = Date.now();',
    "Date['now']": "export const at = Date['now']();",
    'new Date()': 'export const at = new Date();',
    'new Date without brackets': 'export const at = new Date;',
    'Date()': 'export const at = Date();',
    'Date passed on': 'export const make = () => build(Date);',
    'Date taken apart': 'const { now } = Date;\nnow();',
    'globalThis.Date': 'export const at = globalThis.Date.now();',
    'globalThis taken apart': 'const { setTimeout: wait } = globalThis;\nwait(go);',
    'globalThis taken apart behind a cast': 'const { setTimeout: wait } = globalThis as Timers;\nwait(go);',
    'Math.random': 'export const chance = Math.random();',
    'Math taken apart': 'const { random } = Math;\nrandom();',
    'Math by a computed name': 'export const chance = Math[name]();',
    'performance.now': 'export const at = performance.now();',
    'a shorthand property': 'export const timers = { setTimeout };',
    setTimeout: 'setTimeout(() => undefined, 10);',
    'globalThis.setTimeout': 'globalThis.setTimeout(() => undefined, 10);',
    setInterval: 'setInterval(() => undefined, 10);',
    setImmediate: 'setImmediate(() => undefined);',
    'process.hrtime': 'export const at = process.hrtime.bigint();',
    'crypto.randomUUID': 'export const id = crypto.randomUUID();',
    'globalThis.crypto.randomUUID': 'export const id = globalThis.crypto.randomUUID();',
    getRandomValues: 'crypto.getRandomValues(new Uint8Array(4));',
    'AbortSignal.timeout': 'export const signal = AbortSignal.timeout(10);',
    'a default value': 'export const f = (now = Date.now) => now();',
    'import of randomBytes': "import { randomBytes } from 'node:crypto';",
    'import of randomUUID under another name': "import { randomUUID as id } from 'crypto';",
    'import of all of node:crypto': "import * as crypto from 'node:crypto';",
    'default import of node:crypto': "import nodeCrypto from 'node:crypto';",
    'import of hrtime': "import { hrtime } from 'node:process';",
    'node:timers': "import { clearTimeout } from 'node:timers';",
    'node:timers/promises': "import { scheduler } from 'node:timers/promises';",
    'node:perf_hooks': "import { monitorEventLoopDelay } from 'node:perf_hooks';",
    're-export of node:timers': "export * from 'node:timers';",
    'dynamic import': "export const timers = await import('node:timers');",
  };
  const allowed = {
    'new Date(ms)': 'export const at = new Date(0);',
    'Date.parse': "export const at = Date.parse('2020-01-01') + Date.UTC(2020);",
    'the prototype of Date': 'export const isPlain = (x: object) => Object.getPrototypeOf(x) === Date.prototype;',
    'instanceof Date': 'export const isDate = (x: unknown): x is Date => x instanceof Date;',
    'Date as a type': 'export type At = Date;\nexport const f = (at: Date): Date => at;',
    'a type of a timer': 'export type Timer = ReturnType<typeof setTimeout>;',
    'Math.min': 'export const least = Math.min(1, 2);',
    createHash: "import { createHash } from 'node:crypto';\nexport { createHash };",
    'a type import': "import type { KeyObject } from 'node:crypto';",
    'crypto.subtle': 'export const subtle = crypto.subtle;',
    'members of other objects': 'clock.setTimeout(1);\nexport const f = { setTimeout: 1, performance: 2 };',
    'a port with such a name': 'export interface Random { randomUUID(): string; now(): Date }',
    'a registry on the global object': 'const registry = globalThis as { [name]?: Set<string> };\nregistry[name];',
    'process.env': 'export const home = process.env.HOME;',
    'a comment and a string': "// Date.now()\nexport const text = 'Date.now()';",
  };
  const missed = Object.keys(planted).filter((name) => violationsIn('planted.ts', planted[name]).length === 0);
  const wronged = Object.keys(allowed).filter((name) => violationsIn('allowed.ts', allowed[name]).length > 0);
  for (const name of missed) console.log(`self-test: missed the planted violation: ${name}`);
  for (const name of wronged) console.log(`self-test: reported what is allowed: ${name}`);
  console.log(`self-test: ${Object.keys(planted).length} planted, ${Object.keys(allowed).length} allowed`);
  process.exitCode = missed.length + wronged.length === 0 ? 0 : 1;
}
