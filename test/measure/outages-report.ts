/** The measurement of outages as a command. */

import { type AtTheEnd, say } from '../support/to-the-end.ts';
import { measureOutages, type Outages, type OutagesOptions } from './outages.ts';

interface OutagesReportOptions extends OutagesOptions {
  readonly json: boolean;
}

/** True when nothing is wrong, nothing went uncaught, and work went on soon after each outage. */
export async function runOutages({ json, ...given }: OutagesReportOptions, atTheEnd: AtTheEnd): Promise<boolean> {
  const began = performance.now();
  const doing = (what: string) => say(`measure: ${Math.round((performance.now() - began) / 1000)} s, ${what}`);
  const outages = await measureOutages(given, { doing, complain: say }, atTheEnd);
  const ok = isRight(outages);
  const summary = { summary: 'measure-outages', ok, ...outages };
  process.stdout.write(`${json ? JSON.stringify(summary) : `${told(outages)}\n\n${verdictOn(ok)}`}\n`);
  return ok;
}

const RESUME_MAX_MS = 3_000;

export function isRight({ resumeMs, wrongCounts, uncaught }: Outages): boolean {
  return wrongCounts === 0 && uncaught === 0 && resumeMs.every((ms) => ms <= RESUME_MAX_MS);
}

function told(outages: Outages): string {
  const { postgresRestarts, natsNodesKilled, resumeMs, operations, wrongCounts, uncaught } = outages;
  return [
    `PostgreSQL stopped and started ${postgresRestarts} times; the next operation settled after ${resumeMs.join(', ')} ms`,
    `NATS servers killed, of three: ${natsNodesKilled}`,
    `${operations} operations; ${wrongCounts} wrong, ${uncaught} processes ended by themselves`,
  ].join('\n');
}

function verdictOn(ok: boolean): string {
  return ok ? `Right: work went on within ${RESUME_MAX_MS} ms each time.` : 'Not right; what is wrong stands above.';
}
