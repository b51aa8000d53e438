/**
 * What is done to the database. Rounds of episodes in an order that chance decides: sessions are ended, each of our
 * statements loses requests and replies, the network falls silent, and the server is stopped, stopped while a worker
 * takes up what a killed one left, and killed. In the first round each has the stage to itself, and the round is always
 * played to its end, so that all have struck; in later ones sessions are ended all the while. The end is a silence and
 * losses that no worker dies of, so that nobody takes over what one of them has forgotten.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { PrivatePostgres } from 'sagacity/testing';
import { systemClock } from '../../src/adapters/local/clock.ts';
import { Connection } from '../../src/adapters/postgres/connection.ts';
import type { FaultProxy } from '../../src/testing/fault-proxy/fault-proxy.ts';
import type { PostgresFaults } from '../../src/testing/fault-proxy/postgres-faults.ts';
import { statementNames } from '../../src/adapters/postgres/executor.ts';
import type { Chance } from './chance.ts';
import { type Around, askAbout, type Load, orderAgain } from './load.ts';
import type { TorturedStatement } from './tally.ts';

export interface Scene extends Around {
  readonly server: PrivatePostgres;
  /** Of the shop's database, at the server itself. */
  readonly url: string;
  /** The network before the server, and what it loses. */
  readonly network: FaultProxy;
  readonly losing: PostgresFaults;
  readonly load: Load;
}

/** Plays rounds until `isOver`, at least one. The server is up afterwards, and nothing is lost any more. */
export async function torment(scene: Scene, isOver: () => boolean): Promise<void> {
  const { chance, notes } = scene;
  for (let round = 1; round === 1 || !isOver(); round += 1) {
    const episodes = chance.shuffled(Object.entries(round === 1 ? { ...directed, terminations } : directed));
    const played = async () => {
      for (const [name, episode] of episodes) {
        if (round > 1 && isOver()) return;
        notes.doing(`round ${round}, ${name}`);
        await episode(scene);
        await pause(500);
      }
    };
    if (round === 1) await played();
    else await terminatingDuring(scene, played());
  }
  notes.doing('the last silence and the last losses');
  await silent(scene);
  await pause(1_000);
  await lossesOf(scene, harmless);
}

/** By what people are told of them. */
const directed: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  'lost messages': losses,
  'network silent': silent,
  'server stopped': stopped,
  'server stopped during a take-over': stoppedDuringTakeOver,
  'server killed': killed,
};

const TERMINATE_EVERY_MS = 200;
const TERMINATIONS_MS = 4_000;

async function terminations(scene: Scene): Promise<void> {
  await terminatingDuring(scene, pause(TERMINATIONS_MS));
}

/** Ends one session of the workers after the other until `work` has ended. */
async function terminatingDuring({ url, chance, notes }: Scene, work: Promise<unknown>): Promise<void> {
  // The store's own kind of connection: it bears with a server that comes and goes, and the driver alone does not.
  const route = { url, pooler: true, statementTimeoutMs: TERMINATE_WITHIN_MS, connectTimeoutMs: TERMINATE_WITHIN_MS };
  const executioner = new Connection(route, systemClock());
  let isOver = false;
  const terminatingUntilOver = async () => {
    while (!isOver) {
      const [terminated] = await Promise.all([terminateOne(executioner, chance), pause(TERMINATE_EVERY_MS)]);
      if (terminated) notes.tally.terminated += 1;
    }
  };
  const ended = terminatingUntilOver();
  try {
    await work;
  } finally {
    isOver = true;
    await ended;
    executioner.close();
  }
}

/** False when there was none, or nobody to tell. */
async function terminateOne(executioner: Connection, chance: Chance): Promise<boolean> {
  const lot = chance.below(1_000_000);
  const [ended] = await executioner.run(terminating, [lot], TERMINATE_WITHIN_MS).catch(() => []);
  return ended?.['done'] === true;
}

const TERMINATE_WITHIN_MS = 2_000;

const terminating = `
  with sessions as (
    select pid, row_number() over (order by pid) - 1 as n, count(*) over () as count
    from pg_stat_activity
    where datname = current_database() and application_name = 'sagacity' and pid <> pg_backend_pid()
  )
  select pg_terminate_backend(pid) as done from sessions where n = $1::int % count`;

/** How long it is tried to lose a statement, and how long one is waited for before it is provoked, and after. */
const STRIKE_WITHIN_MS = 20_000;
const COMES_WITHIN_MS = 500;

/** How often each statement loses each of the two; more often if it is repeated, because much can happen meanwhile. */
const LOSSES = 2;
const lossesOfRepeated: { readonly [Name in TorturedStatement]?: number } = { turn: 8, 'saga-turn': 8, 'hand-over': 5 };

/** A worker does not end by the loss of one of these. */
const harmless: readonly TorturedStatement[] = [
  ...(['turn', 'saga-turn', 'hand-over', 'handed-over'] as const),
  ...(['read', 'read-by-identity', 'read-saga', 'read-saga-by-identity'] as const),
];

/** Each statement loses requests and replies by turns, in an order of its own; the statements do so at the same time. */
async function lossesOf(scene: Scene, names: readonly TorturedStatement[]): Promise<void> {
  const orders = names.map((name) => ({ name, ways: scene.chance.shuffled(['request', 'reply'] as const) }));
  await Promise.all(
    orders.map(async ({ name, ways }) => {
      for (let times = lossesOfRepeated[name] ?? LOSSES; times > 0; times -= 1) {
        for (const lose of ways) await strike(scene, name, lose);
      }
    }),
  );
}

async function losses(scene: Scene): Promise<void> {
  await lossesOf(scene, statementNames);
  await untilReadBack(scene);
}

const READ_BACK_TRIES = 10;
const READ_BACK_WITHIN_MS = 500;

/** A turn whose reply is lost may have written nothing; the next one has, and is found by its id in the row. */
async function untilReadBack(scene: Scene): Promise<void> {
  for (let tries = 0; tries < READ_BACK_TRIES && scene.notes.tally.readBack === 0; tries += 1) {
    await strike(scene, 'turn', 'reply');
    await pause(READ_BACK_WITHIN_MS);
  }
}

/** Loses one, and counts it once it has happened. */
async function strike(scene: Scene, name: TorturedStatement, lose: 'request' | 'reply'): Promise<void> {
  const { losing, chance, notes } = scene;
  const matching = new RegExp(`^/\\* sagacity ${name} \\*/`);
  const giveUpAt = performance.now() + STRIKE_WITHIN_MS;
  // Once a call has hung, what else is waited for may hang as well, and the verdict is known.
  while (performance.now() < giveUpAt && notes.tally.hung === 0) {
    // A new rule for each try: one whose session ends while it strikes is spent.
    // What is repeated gets through now and then, so that a repetition is answered.
    const fault = losing.add({ matching, lose, nth: lossesOfRepeated[name] === undefined ? 1 : 1 + chance.below(2) });
    const struck = fault.struck.then(() => true);
    const strikesSoon = () => Promise.race([struck, pause(COMES_WITHIN_MS, false)]);
    let hasStruck = await strikesSoon();
    if (!hasStruck) {
      await provocations[name]?.(scene);
      hasStruck = await strikesSoon();
    }
    fault.remove();
    if (!hasStruck) continue;
    notes.tally.statements[name][lose === 'request' ? 'lostRequests' : 'lostReplies'] += 1;
    return;
  }
}

/** What brings a statement about. All others come by themselves within the pause: the workers live by them. */
const provocations: { readonly [Name in TorturedStatement]?: (scene: Scene) => Promise<void> } = {
  enlist: restartOne,
  retire: restartOne,
  // Neither worker holds what has ended: it is claimed to be told that it was too late.
  'claim-one': (scene) => cancelOne(scene, 'operation'),
  'claim-saga': (scene) => cancelOne(scene, 'saga'),
  'hand-over': (scene) => cancelOne(scene, 'operation'),
  signal: signalOne,
  'read-signal': signalOne,
  'held-locks': async ({ workers, chance }) => void (await chance.oneOf(workers).ask('held')),
  read: (scene) => askAboutOne(scene, 'operation'),
  records: (scene) => askAboutOne(scene, 'operation'),
  'read-saga': (scene) => askAboutOne(scene, 'saga'),
  'saga-records': (scene) => askAboutOne(scene, 'saga'),
  doubts: (scene) => askAboutOne(scene, 'operation'),
  'escalated-sagas': (scene) => askAboutOne(scene, 'saga'),
  'saga-versions': (scene) => askAboutOne(scene, 'saga'),
  'sagas-in-flight': (scene) => askAboutOne(scene, 'saga'),
  'settled-between': (scene) => askAboutOne(scene, 'operation'),
  'read-by-identity': (scene) => orderOneAgain(scene, 'operation'),
  'read-saga-by-identity': (scene) => orderOneAgain(scene, 'saga'),
};

type Sort = Parameters<Load['any']>[0];

async function restartOne({ workers, chance }: Scene): Promise<void> {
  await chance.oneOf(workers).restart();
}

async function cancelOne({ workers, chance, load }: Scene, sort: Sort): Promise<void> {
  const order = load.any(sort);
  if (order !== null) await chance.oneOf(workers).ask('cancel', order.id);
}

/** What was said is asked for, too, whatever came of it. */
async function signalOne({ workers, chance, load }: Scene): Promise<void> {
  const order = load.any('saga');
  if (order === null) return;
  const eventId = `event-${chance.below(1_000)}`;
  await chance.oneOf(workers).ask('signal', order.id, eventId);
  await chance.oneOf(workers).ask('said', order.id, eventId);
}

async function askAboutOne({ workers, chance, load }: Scene, sort: Sort): Promise<void> {
  const order = load.any(sort);
  if (order !== null) await askAbout(order, order.id, chance.oneOf(workers));
}

async function orderOneAgain({ workers, chance, load }: Scene, sort: Sort): Promise<void> {
  const order = load.any(sort);
  if (order !== null) await orderAgain(order, chance.oneOf(workers));
}

/** Longer than a call to the store may take, and shorter than a worker lives without a renewal. */
const SILENCE_MS = 2_500;

/** Nobody is told that anybody is gone: only a deadline ends a call, and only that ends its connection. */
async function silent({ network }: Scene): Promise<void> {
  network.halfOpen();
  await pause(SILENCE_MS);
  network.pass();
}

async function stopped(scene: Scene): Promise<void> {
  await scene.server.stop('fast');
  scene.notes.tally.serverStops += 1;
  await backAgain(scene);
}

async function killed(scene: Scene): Promise<void> {
  await scene.server.kill();
  scene.notes.tally.postmasterKills += 1;
  await backAgain(scene);
}

/** So many attempts are held up, for less than their time-out, before the kill. */
const HELD_AT_ONCE = 8;
const HELD_MS = 800;

/** Long enough for the first sweep of a worker to be under way. */
const TAKE_OVER_MS = 200;

async function stoppedDuringTakeOver(scene: Scene): Promise<void> {
  const { workers, chance, server, provider, notes } = scene;
  const worker = chance.oneOf(workers);
  // What the killed one leaves has happened at the provider, and its reply has not come.
  await provider.faults(Array.from({ length: HELD_AT_ONCE }, () => 'commit-then-hold'));
  await pause(HELD_MS);
  await worker.replace();
  const begun = worker.begin();
  await pause(TAKE_OVER_MS);
  await server.stop('immediate');
  notes.tally.serverStops += 1;
  await backAgain(scene);
  await begun;
}

/** Outages of up to this length: some are longer than a worker lives without a renewal. */
const OUTAGE_MAX_MS = 4_000;

async function backAgain({ server, chance }: Scene): Promise<void> {
  await pause(100 + chance.below(OUTAGE_MAX_MS));
  await server.start();
}
