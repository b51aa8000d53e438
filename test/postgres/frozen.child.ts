/**
 * A worker in a process of its own that freezes while a statement of its is on its way to the database, or blocks its
 * event loop. It works on for as long as it is let; the test that started it ends it.
 */

import { existsSync, readSync, writeSync } from 'node:fs';
import { createOrchestrator } from 'sagacity';
import { natsWaker } from 'sagacity/nats';
import { postgresStore } from 'sagacity/postgres';
import { providerAt } from 'sagacity/testing';
import type { StatementName } from '../../src/adapters/postgres/executor.ts';
import type { Handover, SagaTurn, Store, Turn } from '../../src/ports/store.ts';
import { overlay } from '../../src/testing/overlay.ts';
import { shopAt } from '../kill/shop.ts';
import { watchWire } from '../kill/wire.ts';
import { tells } from '../support/interrupted.ts';
import { briefHeartbeat, chargeAt, type FrozenTask, type Word, statementOf, type Write } from './frozen-worker.ts';

// The test that started this process wrote it.
const { databaseUrl, natsUrl, providerUrl, times, submits, freezes, blocks } = JSON.parse(
  process.argv[2] ?? '',
) as FrozenTask;

/** The statement that is to leave, if the process shall freeze then. */
let leaving: StatementName | null = null;
let hasFrozen = false;
/** What its hand-over has changed is being looked at: the same process takes nothing up meanwhile. */
let isLookedAt = false;
/** The provider has the request, and holds its reply back. */
let isHeld = false;

const charge = chargeAt(providerUrl, times, { onReply: () => blockAt('reply') });
const { payment } = shopAt(providerUrl);
// A statement may wait for as long as the process is frozen. Where what is on its way is held back, another one needs a
// connection that is free and open already.
const CONNECTIONS = 8;
const own = postgresStore({ url: databaseUrl, connections: CONNECTIONS, deadlineMs: 120_000 });
const store = overlay(own, {
  async turn(turn: Turn) {
    const receipt = await frozenAt(writeOf(turn), () => own.turn(turn));
    if (receipt !== null && tells(turn, 'start')) blockAt('recorded start');
    return receipt;
  },
  sagaTurn: (turn: SagaTurn) => frozenAt(isNextStep(turn) ? 'saga' : null, () => own.sagaTurn(turn)),
  renew: (...given: Parameters<Store['renew']>) => frozenAt(isHeld ? 'renewal' : null, () => own.renew(...given)),
  claim: async (...given: Parameters<Store['claim']>) =>
    isLookedAt ? [] : await frozenAt(given[3] === undefined ? 'claim' : null, () => own.claim(...given)),
  handOver: (handover: Handover) => frozenAt('hand-over', () => own.handOver(handover)),
});
const orchestrator = createOrchestrator({
  ...{ store, waker: natsWaker({ servers: natsUrl }), definitions: [charge, payment], tenant: 'shop-1' },
  ...{ sweepEvery: '100ms', heartbeat: briefHeartbeat },
});

watchWire(
  { database: portOf(databaseUrl), provider: portOf(providerUrl) },
  {
    statementsLeft(texts) {
      if (leaving === null || !texts.some((text) => text.startsWith(`/* sagacity ${leaving} */`))) return;
      leaving = null;
      process.kill(process.pid, 'SIGSTOP');
    },
    requestLeaving: () => 'whole',
    requestLeft() {},
  },
);
if (freezes === 'renewal') {
  void providerAt(providerUrl)
    .logged(({ event }) => event === 'HOLD')
    .then(() => {
      isHeld = true;
    });
}
await orchestrator.start();
await Promise.all(Array.from({ length: 4 * CONNECTIONS }, () => own.read({ tenant: 'shop-1', id: 'nobody' })));
if (submits !== null) {
  const { what, orderId } = submits;
  const order = { orderId, amount: 5 };
  const { submission } = await (what === 'charge'
    ? orchestrator.submit(charge, order)
    : orchestrator.submit(payment, order));
  say(`submitted: ${submission}`);
}

async function frozenAt<Answer>(write: Write | null, call: () => Promise<Answer>): Promise<Answer> {
  if (write === null || write !== freezes || hasFrozen) return await call();
  hasFrozen = true;
  isLookedAt = write === 'hand-over';
  say('about to write');
  waitForTheTest();
  leaving = statementOf[write];
  const answer = await call();
  say(isRefusal(answer) ? 'refused' : 'written');
  waitForTheTest();
  isLookedAt = false;
  return answer;
}

function writeOf(turn: Turn): Write | null {
  if (turn.birth !== null) return 'birth';
  if (tells(turn, 'lookup')) return 'look-up';
  if (tells(turn, 'end')) return 'end';
  return tells(turn, 'start') ? 'start' : null;
}

function isNextStep({ birth, operations }: SagaTurn): boolean {
  return birth === null && operations.some((change) => change.birth !== null);
}

function isRefusal(answer: unknown): boolean {
  return answer === null || answer === false || (Array.isArray(answer) && answer.length === 0);
}

/** Nothing in this process runs meanwhile. */
function waitForTheTest(): void {
  readSync(0, Buffer.alloc(1));
}

function blockAt(point: 'recorded start' | 'reply'): void {
  if (blocks?.at !== point) return;
  say('blocked');
  while (!existsSync(blocks.until));
}

function say(word: Word): void {
  // At once, whatever happens to this process next.
  writeSync(1, `${word}\n`);
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
