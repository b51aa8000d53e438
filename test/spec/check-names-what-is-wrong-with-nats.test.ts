/**
 * A checkup says whether wakes get through, and if not, what to do: before a service relies on them, and when they have
 * stopped to be prompt. It is a warning whatever it is, for the sweep finds what no wake announces.
 */

import { createOrchestrator } from 'sagacity';
import { natsWaker, type NatsWakerOptions } from 'sagacity/nats';
import { memoryStore, privateNats, type PrivateNats } from 'sagacity/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let server: PrivateNats;
beforeAll(async () => {
  server = await privateNats();
});
afterAll(() => server.close());

async function found(options: NatsWakerOptions) {
  const orchestrator = createOrchestrator({ store: memoryStore(), definitions: [], waker: natsWaker(options) });
  const { ok, findings } = await orchestrator.check();
  return { ok, nats: findings.filter(({ check }) => check === 'nats') };
}

describe('a checkup of what wakes go through', () => {
  test('says that all is well, with the version of the server', async () => {
    const { ok, nats } = await found({ servers: server.url });

    expect(ok).toBe(true);
    expect(nats).toEqual([
      {
        check: 'nats',
        level: 'ok',
        says: expect.stringMatching(/^NATS 2\.\d+\.\d+ answers, and JetStream/),
        remedy: null,
      },
    ]);
  });

  test('names a server on which JetStream is not enabled', async () => {
    const bare = await privateNats({ jetStream: false });

    const { ok, nats } = await found({ servers: bare.url });
    await bare.close();

    expect(ok).toBe(true);
    expect(nats).toEqual([
      {
        ...{ check: 'nats', level: 'warning' },
        says: expect.stringMatching(/^NATS answers, but JetStream keeps no timers/),
        remedy: expect.stringMatching(/^Start the servers with JetStream/),
      },
    ]);
  });

  test('names credentials that are refused, and does not show them', async () => {
    const guarded = await privateNats({ credentials: { user: 'shop', pass: 'right' } });

    const { ok, nats } = await found({ servers: guarded.url, user: 'shop', pass: 'wrong-secret' });
    await guarded.close();

    expect(ok).toBe(true);
    expect(nats).toEqual([
      {
        ...{ check: 'nats', level: 'warning' },
        says: 'NATS refuses the credentials (AUTHORIZATION_VIOLATION).',
        remedy: expect.stringMatching(/^Correct them/),
      },
    ]);
    expect(JSON.stringify(nats)).not.toContain('wrong-secret');
  });

  test('names a server that is not there', async () => {
    const gone = await privateNats();
    const { url } = gone;
    await gone.close();

    const { ok, nats } = await found({ servers: url });

    expect(ok).toBe(true);
    expect(nats).toMatchObject([{ level: 'warning', says: 'NATS cannot be reached (CONNECTION_REFUSED).' }]);
  });
});
