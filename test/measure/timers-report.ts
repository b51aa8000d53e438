/** The measurement of timers as a command: servers of its own, a row for each mode, and the worst of them. */

import { privateNats, privatePostgres } from 'sagacity/testing';
import { type AtTheEnd, say, undoneAtTheEnd } from '../support/to-the-end.ts';
import { type Lateness, type Mode, type Row, worstOf } from './lateness.ts';
import { measureTimers, type TimersOptions } from './timers.ts';

interface TimersReportOptions extends TimersOptions {
  readonly modes: readonly Mode[];
  readonly json: boolean;
}

/** True when all have fired, and none early. */
export async function runTimers({ modes, json, ...given }: TimersReportOptions, atTheEnd: AtTheEnd): Promise<boolean> {
  const began = performance.now();
  const doing = (what: string) => say(`measure: ${Math.round((performance.now() - began) / 1000)} s, ${what}`);
  doing('starting NATS and PostgreSQL');
  const nats = await undoneAtTheEnd(atTheEnd, privateNats(), (server) => server.close());
  const database = await undoneAtTheEnd(atTheEnd, privatePostgres(), (server) => server.close());
  const rows: Row[] = [];
  for (const mode of modes) {
    const row = await measureTimers(mode, given, { database, nats }, doing, atTheEnd);
    rows.push(row);
    if (json) process.stdout.write(`${JSON.stringify(row)}\n`);
  }
  const worst = worstOf(rows);
  if (json) process.stdout.write(`${JSON.stringify(worst)}\n`);
  else process.stdout.write(`${tableOf(rows)}\n\n${verdictOn(worst.ok)}\n`);
  return worst.ok;
}

const columns: readonly (keyof Lateness)[] = ['timers', 'fired', 'early', 'p50Ms', 'p99Ms', 'maxMs'];

function tableOf(rows: readonly Row[]): string {
  const lines = [['mode', ...columns], ...rows.map((row) => [row.mode, ...columns.map((name) => String(row[name]))])];
  return lines
    .map(([mode = '', ...cells]) => [mode.padEnd(12), ...cells.map((cell) => cell.padStart(8))].join(' '))
    .join('\n');
}

function verdictOn(ok: boolean): string {
  return ok ? 'All timers have fired, and none before it was due.' : 'Not right: some were lost, or fired early.';
}
