/** A run as people read it: one line while it goes on, a table of what was done, and one sentence that judges it. */

import { lossesIn, neverStruck, type Summary, type Tally } from './tally.ts';

export function progressLine(tally: Tally, doing: string, ms: number): string {
  const { lostRequests, lostReplies } = lossesIn(tally);
  const { operations, sagas, calls, terminated, serverStops, postmasterKills, readBack } = tally;
  return [
    `${seconds(ms)}, ${doing}: ${operations} operations, ${sagas} sagas, ${calls} calls, ${terminated} sessions ended`,
    `${lostRequests} requests and ${lostReplies} replies lost, ${serverStops} stops, ${postmasterKills} kills`,
    `${readBack} read back; ${wrongs(tally)}`,
  ].join(', ');
}

export function tableOf(summary: Summary): string {
  const { operations, sagas, takenBack, calls, terminated, serverStops, postmasterKills, readBack } = summary;
  const facts = Object.entries({
    ...{
      operations,
      sagas,
      'sagas taken back': takenBack,
      calls,
      'sessions ended': terminated,
      'server stopped': serverStops,
    },
    ...{ 'postmaster killed': postmasterKills, 'doubts settled by our own turn in the row': readBack },
  });
  const losses = Object.entries(summary.statements).map(([name, { lostRequests, lostReplies }]) => [
    name,
    String(lostRequests),
    String(lostReplies),
  ]);
  return [
    ...aligned([['statement', 'lost requests', 'lost replies'], ...losses]),
    '',
    ...aligned(facts.map(([what, count]) => [what, String(count)])),
  ].join('\n');
}

export function verdictOn(summary: Summary): string {
  const how = `seed ${summary.seed}, ${seconds(summary.ms)}`;
  if (summary.ok) {
    return `The provider holds what the ${summary.operations} operations and ${summary.sagas} sagas say, and no call was left without an answer (${how}).`;
  }
  const missing = neverStruck(summary);
  const idle = missing.length === 0 ? '' : ` Never came: ${missing.join('; ')}.`;
  return `Not right: ${wrongs(summary)}.${idle} Repeat it with --seed ${summary.seed} (${how}).`;
}

function wrongs({ wrongCounts, hung, uncaught }: Tally): string {
  return `${wrongCounts} wrong, ${hung} hung, ${uncaught} uncaught`;
}

function aligned(lines: readonly (readonly string[])[]): string[] {
  const width = Math.max(...lines.map(([first = '']) => first.length));
  return lines.map(([first = '', ...counts]) =>
    [first.padEnd(width), ...counts.map((count) => count.padStart(13))].join(' '),
  );
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
