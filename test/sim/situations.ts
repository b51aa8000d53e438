/**
 * What must happen in some schedule, or it has not been tried: every arrow of the operation's chart, every verb of the
 * store with a request and with a reply that is lost, and the rare situations that cost others money.
 */

import { arrowsOfChart } from './arrows.ts';
import { sagaVerbs, type Verb, verbs } from './verbs.ts';

const rare = [
  'look-up: found',
  'look-up: absent',
  'look-up: inconclusive',
  'look-up: error',
  'submission: new',
  'submission: joined',
  'submission: replayed',
  'submission: conflict',
  'submission: in doubt',
  'cancelled too late',
  'taken over from a worker that died',
  'claim lost before the request left',
  'claim lost while the request was on its way',
  'sent too late, and refused',
  'a late result applied',
  'a late result contradicted what had settled',
  'two effects, and a person was told',
  'sent again under the same key',
  'a window refused the start',
  'a turn refused by its fence',
  'a decision refused',
  'fail-over: a birth lost',
  'fail-over: a start lost',
  'fail-over: an ending lost',
  'fail-over: a lost start assumed',
  'fail-over: a person was asked',
  'fail-over: what had settled was confirmed',
  'fail-over: what had settled was contradicted',
  'ended by stopping',
] as const;

export type Rare = (typeof rare)[number];

export const situations: readonly string[] = [
  ...arrowsOfChart().live,
  ...verbs.filter((verb) => !isOfSagas(verb)).flatMap(lostOf),
  ...rare,
];

/** What later features bring, so that nobody takes its absence for success. */
export const notYet: readonly string[] = [
  'I9 compensation only for proven successes, in reverse order (sagas)',
  'I10 a saga ends done, taken back or with a person (sagas)',
  'I11 outbox (outbox)',
  'I12 inbox (inbound)',
  'a webhook before the reply (inbound)',
  'two versions side by side (versions)',
  'pruning during use (operator)',
  ...sagaVerbs.flatMap(lostOf).map((lost) => `${lost} (sagas)`),
  ...arrowsOfChart().waiting.map(({ arrow, waitsFor }) => `${arrow} (${waitsFor})`),
];

function lostOf(verb: Verb): readonly string[] {
  return [`request lost: ${verb}`, `reply lost: ${verb}`];
}

function isOfSagas(verb: Verb): boolean {
  return sagaVerbs.some((saga) => saga === verb);
}
