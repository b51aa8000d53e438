/**
 * What must happen in some schedule, or it has not been tried: every arrow of the operation's chart, every verb of the
 * store with a request and with a reply that is lost, and the rare situations that cost others money.
 */

import { arrowsOfChart } from './arrows.ts';
import { type Verb, verbs } from './verbs.ts';

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

/** What happens to sagas. */
const ofSagas = [
  'saga: begun',
  'saga: a birth met the one that came first',
  'saga: succeeded',
  'saga: compensated',
  'saga: terminated',
  'saga: escalated',
  'saga: an operation escalated',
  'saga: a step refused after the pivot, and a person was asked',
  'saga: a person stated what a step brought',
  'saga: a step taken again at a person’s word',
  'saga: a step taken again by its chart',
  'saga: a late success of a branch that was left',
  'saga: an unsent step given up',
  'saga: an unsent inverse given up',
  'saga: compensation waits for what is in doubt',
  'saga: several inverses at once',
  'saga: an inverse unknown',
  'saga: an inverse refused',
  'saga: taken back by hand',
  'saga: left standing',
  'saga: taken back at a person’s word after it was succeeded',
  'saga: taken back at a person’s word after it was terminated',
  'saga: not taken back at a person’s word, since it had not settled',
  'saga: taken back in part while something is in doubt',
  'saga: joined, and told that it succeeded',
  'saga: joined, and told that it failed',
  'saga: joined, and told that it was given up',
  'saga: a step met what is taken back',
  'saga: held by one that has joined',
  'saga: held no more',
  'saga: two hold each other',
  'saga: ended while it is held',
  'saga: at fault with what another means',
  'saga: at fault with what another means, again',
  'saga: what stands alone is taken back at a person’s word',
  'saga: what stands alone is not taken back, since its definition is at fault',
  'saga: an event refused',
  'saga: an event kept',
  'saga: an event expired',
  'saga: agreed from outside',
  'saga: a word is applied',
  'saga: a word is waiting',
  'saga: a wait in vain takes it back',
  'saga: a wait in vain, and a person was asked',
  'saga: not begun, since another one has the lock',
  'saga: a list of nothing',
  'saga: items wait for their turn',
  'saga: an item refused, and others of its list taken back',
  'saga: an item refused, and the saga goes on without it',
  'saga: a person stated what an item brought',
  'saga: an item taken again at a person’s word',
  'saga: approved from outside',
  'saga: rejected from outside',
  'saga: not begun, since its definition is at fault',
  'saga: its definition is at fault',
  'saga: at fault while it is taken back',
  'saga: at fault no more',
  'saga: cancelled',
  'saga: cancelled too late',
  'saga: cancelled while the pivot is under way',
  'saga: cancelled, and the pivot succeeded',
  'saga: cancelled, and the pivot was refused',
  'saga: timed out',
  'saga: timed out while the pivot is under way',
  'saga: terminated while something is under way',
  'saga: taken over from a worker that died',
  'saga: taken over while it is taking back',
  'saga: a turn refused by its fence',
  'saga: a window refused the start',
  'saga: fail-over: a birth lost',
  'saga: fail-over: a step lost',
  'saga: fail-over: an ending lost',
] as const;

export const situations: readonly string[] = [...arrowsOfChart(), ...verbs.flatMap(lostOf), ...rare, ...ofSagas];

/** What is not played yet, so that nobody takes its absence for success. */
export const notYet: readonly string[] = [
  'I11 outbox (outbox)',
  'I12 inbox (inbound)',
  'a webhook before the reply (inbound)',
  'two versions side by side (versions)',
  'pruning during use (operator)',
  'a saga submitted in a transaction of the caller’s (the simulated store has none)',
];

function lostOf(verb: Verb): readonly string[] {
  return [`request lost: ${verb}`, `reply lost: ${verb}`];
}
