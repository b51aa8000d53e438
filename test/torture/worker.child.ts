/**
 * A worker in a process of its own: an orchestrator of the library as it is, with a store of its own, that is asked over
 * the channel to its parent. Nothing is caught here that the library lets escape: it ends this process, and that is
 * what is counted. It ends with its parent.
 */

import { createOrchestrator, isSagacityError, type Orchestrator, type Run, type SagaRun, type Store } from 'sagacity';
import { postgresStore } from 'sagacity/postgres';
import { type Answer, type Asked, type Said, storeDeadlineMs, type Verb, type Verbs, withinMs } from './calls.ts';
import { notingReadBacks } from './read-back.ts';
import { loggerOfFaults } from '../support/faults-logged.ts';
import { isSagaKind, type Kind, shopAt } from './shop.ts';

const [url, providerUrl] = process.argv.slice(2);
if (url === undefined || providerUrl === undefined) throw new Error('Usage: worker.child.ts DATABASE-URL PROVIDER-URL');

const shop = shopAt(providerUrl);
const logger = loggerOfFaults((what) => say({ says: 'fault', what }));
const actions = Object.values(shop).flatMap((ordered) => (ordered.type === 'operation' ? [ordered.action] : []));
let orchestrator: Orchestrator<true> | null = null;
/** That of the orchestrator. */
let store: Store | null = null;

const verbs: { readonly [Name in Verb]: (...args: Parameters<Verbs[Name]>) => Promise<ReturnType<Verbs[Name]>> } = {
  async start() {
    store ??= notingReadBacks(postgresStore({ url, deadlineMs: storeDeadlineMs }), () => say({ says: 'read-back' }));
    orchestrator ??= createOrchestrator({
      ...{ store, definitions: Object.values(shop), tenant: 'shop-1', concurrency: 6, sweepEvery: '200ms', logger },
      // Below that, so that what is due is claimed in turn now and then.
      perTenant: { concurrency: 4 },
      heartbeat: { every: '500ms', timeout: '3s' },
    });
    await orchestrator.start();
    return null;
  },
  async stop() {
    const stopping = orchestrator;
    [orchestrator, store] = [null, null];
    await stopping?.stop({ within: '1s' });
    return null;
  },
  async submit(kind, orderId) {
    const order = { orderId, amount: 1200 };
    const { id, submission } = isSagaKind(kind)
      ? await working().submit(shop[kind], order)
      : await working().submit(shop[kind], order);
    return { id, submission };
  },
  run: async (kind, id) => (await runOf(kind, id)).status(),
  async result(kind, id) {
    const end = await (await runOf(kind, id)).result({ within: withinMs });
    // All operations of this shop have one kind of output, and its sagas make none of their own.
    return end as ReturnType<Verbs['result']>;
  },
  async history(kind, id) {
    const records = await (await runOf(kind, id)).history();
    return records.map(({ revision, kind, attempt }) => ({ revision, kind, attempt }));
  },
  cancel: async (id) =>
    (await working().cancel(id, { by: 'a customer', reason: 'changed their mind', within: withinMs })).status,
  async signal(id, eventId) {
    const options = { eventId, within: withinMs };
    try {
      return (await working().signal(id, { type: 'customer.asked' }, options)).status;
    } catch (error) {
      // None of these sagas waits for a word of its customers.
      if (isSagacityError(error, 'SIGNAL_REFUSED')) return 'refused';
      throw error;
    }
  },
  said: async (id, eventId) => (await working().signalStatus(id, { signal: 'customer.asked', eventId })).status,
  // Of the store itself: an orchestrator asks this only for a saga that wants what another holds, and here none does.
  async held() {
    if (store === null) throw new NotWorking();
    return (await store.heldLocks('shop-1', ['till-1'])).map(({ saga }) => saga);
  },
  doubts: async () => (await working().operator.doubts({ limit: 20 })).map(({ id }) => id),
  escalated: async () => (await working().operator.escalatedSagas({ limit: 20 })).map(({ id }) => id),
  versions: async () => (await working().operator.versions()).map(({ saga, version }) => `${saga}@${version}`),
  // Of the store itself: an orchestrator asks this only to move sagas on to another version, and there is none here.
  async inFlight() {
    if (store === null) throw new NotWorking();
    const rows = await store.sagasInFlight({ name: 'delivery', version: 1, tenant: 'shop-1', limit: 20, after: null });
    return rows.map(({ id }) => id);
  },
  // Of the store itself: an orchestrator asks this only after a fail-over, and there is none here.
  async settled() {
    if (store === null) throw new NotWorking();
    const rows = await store.settledBetween({ actions, from: 0, to: Date.now(), limit: 20, after: null });
    return rows.map(({ id }) => id);
  },
};

process.once('disconnect', () => process.exit(3));
process.on('message', (asked: Asked) => void answerTo(asked));
say({ says: 'loaded' });

async function answerTo({ n, verb, args }: Asked): Promise<void> {
  say({ says: 'answer', n, answer: await answerOf(verb, args) });
}

async function answerOf(verb: Verb, args: readonly unknown[]): Promise<Answer<unknown>> {
  // The parent asks with the arguments of the verb.
  const call = verbs[verb] as (...given: readonly unknown[]) => Promise<unknown>;
  try {
    return { how: 'answered', value: await call(...args) };
  } catch (error) {
    if (error instanceof NotWorking) return { how: 'refused', code: 'GONE', message: error.message };
    const code = isSagacityError(error) ? error.code : 'UNEXPECTED';
    return { how: 'refused', code, message: error instanceof Error ? error.message : String(error) };
  }
}

/** Between two orchestrators there is nobody to ask. */
class NotWorking extends Error {
  override readonly message = 'This worker has no orchestrator now.';
}

function working(): Orchestrator<true> {
  if (orchestrator === null) throw new NotWorking();
  return orchestrator;
}

function runOf(kind: Kind, id: string): Promise<Run | SagaRun> {
  return isSagaKind(kind) ? working().sagaRun(id) : working().run(id);
}

function say(said: Said): void {
  process.send?.(said);
}
