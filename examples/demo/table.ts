/** The demo's result as people read it: one line a scenario, and one sentence that says what it comes to. */

import { styleText } from 'node:util';
import type { Row } from './judge.ts';

export interface Line {
  readonly row: Row;
  readonly story: string;
}

const head = ['scenario', 'what happened', 'attempts', 'look-ups', 'records', 'verdict'];

export function tableOf(lines: readonly Line[], colour: boolean): string {
  const cells = lines.map(({ row, story }) => [
    row.scenario,
    row.cause === undefined ? story : `${story} (cause: ${row.cause.step ?? 'none'}, ${row.cause.code})`,
    String(row.attempts),
    String(row.lookups),
    `${row.providerRecords} of ${row.expectedRecords}`,
    row.ok ? 'ok' : 'WRONG',
  ]);
  const widths = head.map((title, column) =>
    Math.max(...[head, ...cells].map((line) => (line[column] ?? title).length)),
  );
  const lineOf = (line: readonly string[]) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  const paint = (format: 'bold' | 'green' | 'red', text: string) => (colour ? styleText(format, text) : text);
  return [
    paint('bold', lineOf(head)),
    ...cells.map((line, index) => paint(lines[index]?.row.ok === true ? 'green' : 'red', lineOf(line))),
  ].join('\n');
}

export function verdictOn(rows: readonly Row[], ms: number, store: string): string {
  const wrong = rows.filter(({ ok }) => !ok);
  const how = `store ${store}, ${(ms / 1000).toFixed(1)} s`;
  return wrong.length === 0
    ? `Asked in its own process, the provider holds just the records of the ${rows.length} orders that it should: nothing was done twice, nothing was lost (${how}).`
    : `${wrong.length} of ${rows.length} scenarios went wrong: ${wrong.map(({ scenario }) => scenario.charAt(0)).join(', ')} (${how}).`;
}
