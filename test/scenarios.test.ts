/**
 * What has happened to others, and where it is tried here: `scenarios.json` names for each scenario the test that plays
 * it, the feature that it waits for, or why it cannot happen. The list is kept honest here.
 */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript-5.9';
import { describe, expect, test } from 'vitest';

interface Scenario {
  readonly id: string;
  readonly title: string;
  readonly file?: string;
  readonly test?: string;
  readonly waitsFor?: string;
  readonly notOffered?: string;
}

const root = fileURLToPath(new URL('..', import.meta.url));
// Written by hand; each member is looked at below.
const list = JSON.parse(await readFile(new URL('scenarios.json', import.meta.url), 'utf8')) as {
  readonly features: Readonly<Record<string, boolean>>;
  readonly scenarios: readonly Scenario[];
};
const { features, scenarios } = list;

/**
 * The sections on effects, claims, clocks, the database, messages, retries, versions, values, stops, compensation,
 * decisions, branches and tenants, as far as they are tried, by their numbers; the bank has gaps.
 */
const numbers = [
  ...[1, 3, 5, 6, 8, 9, 11, 13],
  ...[14, 16, 18, 19, 21, 22, 24, 25, 26],
  ...[28, 30, 32, 33, 34, 35, 36],
  ...[38, 39, 40, 41, 42, 43, 44, 46, 48, 51, 53, 54],
  ...[55, 57, 59],
  ...[60, 62, 63, 64],
  ...[65, 67],
  ...[68, 69, 70, 72, 73],
  ...[75, 77, 78, 79, 81, 83, 84, 86, 87, 105, 107, 109, 110],
];

describe('the list of scenarios', () => {
  test('has each of them once, in order', () => {
    expect(scenarios.map(({ id }) => id)).toEqual(numbers.map((number) => `S${String(number).padStart(2, '0')}`));
  });

  test('knows which features are there', () => {
    const known = 'sagas signals timers versions nats processes contracts inbound outbox operator scale'.split(' ');

    expect(Object.keys(features)).toEqual(known);
    expect(new Set(Object.values(features).map((landed) => typeof landed))).toEqual(new Set(['boolean']));
  });
});

describe.each(scenarios)('scenario $id: $title', ({ title, file, test: name, waitsFor, notOffered }) => {
  test('is tried by a test that exists, waits for what is not there yet, or cannot happen', async () => {
    const ways = [file, waitsFor, notOffered].filter((way) => way !== undefined);

    expect(title.length).toBeGreaterThan(10);
    expect(ways).toHaveLength(1);
    if (file !== undefined) {
      expect(existsSync(join(root, file))).toBe(true);
      const titles = titlesIn(await readFile(join(root, file), 'utf8'));
      expect(titles).toContain(name);
    }
    if (waitsFor !== undefined) expect(features[waitsFor]).toBe(false);
    if (notOffered !== undefined) expect(notOffered.length).toBeGreaterThan(20);
  });
});

/** The titles of the tests in a file, as they are written there: `test('...')` and `test.each(...)('...')`. */
function titlesIn(source: string): readonly string[] {
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^test(\.each\b|$)/.test(node.expression.getText())) {
      const [title] = node.arguments;
      if (title !== undefined && ts.isStringLiteralLike(title)) titles.push(title.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('file.ts', source, ts.ScriptTarget.ES2022, true));
  return titles;
}
