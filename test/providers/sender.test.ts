import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { Agent, RetryAgent } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { failed, succeeded } from 'sagacity';
import { systemClock } from '../../src/adapters/local/clock.ts';
import { contract, type Contract, type ContractOptions } from 'sagacity/providers';
import type { ProviderAccess } from '../../src/define/provider-access.ts';
import type { Sending } from '../../src/ports/sender.ts';
import { httpSender } from '../../src/providers/http-sender.ts';
import { answer, company, type Sent } from './company.ts';

const CARD = '4242424242424242';

const closings: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});

/** A card company that answers so, and one attempt at it. */
async function attemptAt(
  reply: (response: ServerResponse, sent: Sent) => void,
  options: Partial<Sending> & {
    access?: ProviderAccess | ((url: string) => ProviderAccess);
    mayLeave?: () => string | null;
  } = {},
) {
  const at = await company(reply);
  const { access = {}, mayLeave = () => null, ...sending } = options;
  const sender = httpSender(systemClock(), {
    cards: typeof access === 'function' ? access(at.url) : { url: at.url, ...access },
  });
  closings.push(
    () => sender.close(),
    () => at.close(),
  );
  const abort = new AbortController();
  const whole: Sending = {
    ...{ tenant: 'shop-1', action: 'card.charge', provider: 'cards', contract: charges(), timeoutMs: 5_000 },
    ...{ idempotencyKey: '01890000-0000-8000-8000-000000000017', signal: abort.signal },
    ...sending,
  };
  const attempted = sender.attempt({ ...whole, mayLeave, firstSentAt: Date.UTC(2026, 0, 1) });
  const { http } = attempted;
  return {
    ...{ at, abort, sender, sending: whole, http },
    shut: () => attempted.shut(),
    seen: () => attempted.seen(),
  };
}

function charges(options: Partial<ContractOptions> = {}): Contract {
  return contract({
    ...{ name: 'cards/charges', version: '1', docs: 'https://cards.example/docs', verified: 'unverified' },
    key: { in: 'header', name: 'Idempotency-Key' },
    keyRetention: '24h',
    sameKey: {
      ...{ afterSuccess: 'first-reply', whileRunning: 'refused', afterRefusal: 'first-reply' },
      ...{ afterServerError: 'resumes', otherParameters: 'refused' },
    },
    lookup: { by: 'key', visibleWithin: '1m' },
    codeAt: 'error.code',
    replies: [
      { status: 401, proves: 'locked-out' },
      { status: 402, proves: 'refused', speaksFor: 'key' },
      { status: 409, body: { 'error.code': 'made_before' }, proves: 'done-before' },
      { status: 409, proves: 'running' },
      { status: 422, proves: 'key-conflict' },
    ],
    ...options,
  });
}

/** What a compiler would refuse, as JavaScript may hand it over. */
const untyped = <Kind>(value?: unknown): Kind => value as Kind;

const charge = { url: '/charges', json: { amount: 1200, card: CARD } };
const asCharge = ({ body }: { body: unknown }) => succeeded(body, { reference: (body as { id: string }).id });

describe('a charge that is sent by http', () => {
  test('leaves once, with its key, its credentials and nothing of ours, and succeeds as its executor reads it', async () => {
    const { at, http, seen } = await attemptAt((response) => answer(response, 201, { id: 'ch_1' }), {
      access: { credentials: ({ tenant }) => ({ Authorization: `Bearer of ${tenant}`, 'Idempotency-Key': 'another' }) },
    });

    const outcome = await http.send(charge, asCharge);

    expect(outcome).toEqual(succeeded({ id: 'ch_1' }, { reference: 'ch_1' }));
    expect(at.requests).toHaveLength(1);
    expect(at.requests[0]).toMatchObject({
      ...{ method: 'POST', url: '/charges', body: JSON.stringify(charge.json) },
      headers: {
        'idempotency-key': '01890000-0000-8000-8000-000000000017',
        authorization: 'Bearer of shop-1',
        'content-type': 'application/json',
      },
    });
    expect(seen()?.told).toMatchObject({ gate: 'opened', proves: 'done', status: 201, contract: 'cards/charges 1' });
    expect(JSON.stringify(seen())).not.toMatch(/Bearer|4242|ch_1/);
  });

  test.each([
    ['in double quotes', { in: 'header', name: 'Idempotency-Key', encoding: 'sf-string' }, /^"0189.*17"$/],
    ['as it is', { in: 'header', name: 'Idempotency-Key' }, /^0189.*17$/],
  ] as const)('has its key in the header %s, as the contract says', async (_how, key, written) => {
    const { at, http } = await attemptAt((response) => answer(response, 201, { id: 'ch_1' }), {
      contract: charges({ key }),
    });

    await http.send(charge, asCharge);

    expect(at.requests[0]?.headers['idempotency-key']).toMatch(written);
  });

  test('says when the first request under its key left, where the provider wants that', async () => {
    const key = { in: 'header', name: 'Request-Key', firstSentHeader: 'First-Sent' } as const;
    const { at, http } = await attemptAt((response) => answer(response, 201, { id: 'ch_1' }), {
      contract: charges({ key }),
    });

    await http.send(charge, asCharge);

    expect(at.requests[0]?.headers).toMatchObject({ 'first-sent': 'Thu, 01 Jan 2026 00:00:00 GMT' });
  });

  test('has its key in the body, beside what the executor put there, and in the query', async () => {
    const inBody = await attemptAt((response) => answer(response, 201, { id: 'ch_1' }), {
      contract: charges({ key: { in: 'body', name: 'request.key' } }),
    });
    const inQuery = await attemptAt((response) => answer(response, 201, { id: 'ch_1' }), {
      contract: charges({ key: { in: 'query', name: 'key' } }),
    });

    await inBody.http.send({ url: '/charges', json: { amount: 1, request: { source: 'web' } } }, asCharge);
    await inQuery.http.send({ ...charge, url: '/charges?test=1' }, asCharge);

    const key = '01890000-0000-8000-8000-000000000017';
    expect(JSON.parse(inBody.at.requests[0]?.body ?? '')).toEqual({ amount: 1, request: { source: 'web', key } });
    expect(inQuery.at.requests[0]?.url).toBe(`/charges?test=1&key=${key}`);
  });

  test.each(['GET', 'PUT', 'DELETE'] as const)('has its key whatever its method is: %s', async (method) => {
    const { at, http } = await attemptAt((response) => answer(response, 201, { id: 'ch_1' }), {
      contract: charges({ key: { in: 'query', name: 'key' } }),
    });

    await http.send({ method, url: '/charges?amount=1200' }, asCharge);

    expect(at.requests[0]).toMatchObject({
      method,
      url: '/charges?amount=1200&key=01890000-0000-8000-8000-000000000017',
    });
  });

  test.each([
    [400, { error: { code: 'bad_card' } }, { type: 'failed', code: 'bad_card' }],
    [404, 'no such thing', { type: 'failed', code: 'http-404' }],
    [402, { error: { code: 'declined' } }, { type: 'failed', code: 'declined', speaksFor: 'key' }],
    [422, {}, { type: 'failed', code: 'idempotency-conflict' }],
    [401, {}, { type: 'not-applied', reason: 'status 401', longestPause: true }],
    [425, {}, { type: 'not-applied', reason: 'status 425' }],
    [409, {}, { type: 'unknown', reason: 'running (status 409)' }],
    [202, {}, { type: 'unknown', reason: 'accepted (status 202)', sendAgain: 'ask-first' }],
    [302, {}, { type: 'unknown', reason: 'status 302', sendAgain: 'ask-first' }],
    [500, { error: { code: 'oops' } }, { type: 'unknown', reason: 'status 500' }],
  ])(
    'that is answered with %i is what the contract says of it, and its executor reads nothing',
    async (status, body, expected) => {
      const { http } = await attemptAt((response) => answer(response, status, body, { location: '/elsewhere' }));

      const outcome = await http.send(charge, () => expect.unreachable());

      expect(outcome).toEqual(expected);
    },
  );

  test('waits as long as the provider asks', async () => {
    const { http } = await attemptAt((response) => answer(response, 429, {}, { 'retry-after': '17' }));

    expect(await http.send(charge, asCharge)).toEqual({
      type: 'not-applied',
      reason: 'status 429',
      retryAfterMs: 17_000,
    });
  });

  test('is told as an alarm where every charge there meets the same', async () => {
    const lockedOut = await attemptAt((response) => answer(response, 401, {}));
    const conflict = await attemptAt((response) => answer(response, 422, {}));

    await lockedOut.http.send(charge, asCharge);
    await conflict.http.send(charge, asCharge);

    expect(lockedOut.seen()).toMatchObject({ alarm: 'locked-out' });
    expect(conflict.seen()).toMatchObject({ alarm: 'key-conflict' });
  });

  test('that was made before is what its own record says, which is read without another attempt', async () => {
    const { at, http } = await attemptAt((response, { method }) =>
      method === 'GET'
        ? answer(response, 200, { id: 'ch_1', state: 'declined' })
        : answer(response, 409, { error: { code: 'made_before', id: 'ch_1' } }),
    );

    const outcome = await http.send(charge, ({ status }) =>
      status === 409
        ? http.get({ url: '/charges/ch_1' }, ({ body }) => failed((body as { state: string }).state))
        : succeeded({}),
    );

    expect(outcome).toEqual(failed('declined'));
    expect(at.requests.map(({ method }) => method)).toEqual(['POST', 'GET']);
  });
});

describe('a success that cannot be read', () => {
  test.each([
    ['is no JSON', '<html>', {}],
    ['is cut off', '{"id": "ch', { 'content-length': '100' }],
    ['has nothing in it', '', {}],
    ['is too large', JSON.stringify({ id: 'x'.repeat(2_000_000) }), {}],
  ])('because it %s is unknown, and no crash', async (_what, text, headers) => {
    const { http, seen } = await attemptAt((response) => {
      answer(response, 201, text, headers);
      if ('content-length' in headers) response.destroy();
    });

    const outcome = await http.send(charge, asCharge);

    expect(outcome).toEqual({ type: 'unknown', reason: 'a success that cannot be read (status 201)' });
    expect(seen()?.told).toMatchObject({ status: 201 });
  });

  test('because it is packed, which nobody asked for, is unknown and not read', async () => {
    const { http } = await attemptAt((response) => {
      response.writeHead(200, { 'content-type': 'text/xml', 'content-encoding': 'gzip' });
      response.end(gzipSync('<charge state="done"/>'));
    });

    const outcome = await http.send(charge, ({ body }) =>
      String(body).includes('done') ? succeeded(body) : failed('declined'),
    );

    expect(outcome).toEqual({ type: 'unknown', reason: 'a success that cannot be read (status 200)' });
  });

  test('is looked up first where no key makes a second send safe', async () => {
    const keyless = contract({
      ...{ name: 'cards/charges', version: '1', docs: 'https://cards.example/docs', verified: 'unverified' },
      ...{ key: 'none', lookup: 'none' },
    });
    const { http } = await attemptAt((response) => answer(response, 201, '{'), { contract: keyless });

    expect(await http.send(charge, asCharge)).toMatchObject({ type: 'unknown', sendAgain: 'ask-first' });
  });

  test('tells nothing of what its executor stumbled over', async () => {
    const { http, seen } = await attemptAt((response) => answer(response, 201, { card: CARD }));

    await http.send(charge, ({ body }) => {
      throw new Error(`no charge in ${JSON.stringify(body)}`);
    });

    expect(seen()?.told).toMatchObject({ unreadable: 'Error' });
    expect(JSON.stringify(seen())).not.toContain(CARD);
  });
});

describe('a charge that never left', () => {
  test('because its time to be sent had passed is proven not sent', async () => {
    const { at, http } = await attemptAt((response) => answer(response, 201, {}), {
      mayLeave: () => 'too late to send',
    });

    const outcome = await http.send(charge, asCharge);

    expect(outcome).toEqual({ type: 'not-applied', reason: 'too late to send', sent: false });
    expect(at.requests).toHaveLength(0);
  });

  test('because nobody listens there is proven not sent', async () => {
    const { at, http } = await attemptAt((response) => answer(response, 201, {}));
    await at.close();

    expect(await http.send(charge, asCharge)).toMatchObject({ type: 'not-applied', sent: false });
  });

  test.each([
    ['its credentials cannot be had', { credentials: () => Promise.reject(new Error(CARD)) }, charge],
    ['it would go elsewhere, with the credentials', {}, { ...charge, url: 'https://elsewhere.example/charges' }],
    ['its JSON cannot be written', {}, { url: '/charges', json: { amount: 12n } }],
    ['it says twice what it holds', {}, { ...charge, form: { amount: '1200' } }],
    ['it sets what is the senders', {}, { ...charge, headers: { Connection: 'keep-alive' } }],
    ['its credentials set what is the senders', { credentials: () => ({ Host: CARD }) }, charge],
    ['its credentials are no texts', { credentials: () => ({ authorization: untyped<string>() }) }, charge],
    [
      'its credentials are in no plain object',
      { credentials: () => untyped<Record<string, string>>(new Headers({ authorization: CARD })) },
      charge,
    ],
    ['a header would end its line', {}, { ...charge, headers: { reference: `${CARD}\r\nx: y` } }],
    ['a header has no name', {}, { ...charge, headers: { [`a ${CARD}`]: 'x' } }],
    ['its address climbs out of its provider’s', {}, { ...charge, url: '/charges/../../admin' }],
    [
      'its address has a password',
      { url: untyped<string>() },
      { ...charge, url: `http://shop:${CARD}@127.0.0.1/charges` },
    ],
    ['its form has what is no text', {}, { url: '/charges', form: { amount: untyped<string>() } }],
    ['its body is neither text nor bytes', {}, { url: '/charges', body: untyped<string>(17) }],
  ])('because %s says so, and holds nothing of it', async (_why, access, request) => {
    const { at, http, seen } = await attemptAt((response) => answer(response, 201, {}), {
      access: (url) => ({ url: `${url}/v1`, ...access }),
    });

    const outcome = await http.send(request, asCharge);

    expect(outcome).toMatchObject({
      type: 'not-applied',
      sent: false,
      reason: expect.stringMatching(/could not be made/),
    });
    expect(JSON.stringify([outcome, seen()])).not.toContain(CARD);
    expect(at.requests).toHaveLength(0);
  });

  test('is proven so when its attempt is given up before the gate, and cannot leave any more', async () => {
    let open = (_credentials: Record<string, string>) => {};
    const opened = new Promise<Record<string, string>>((resolve) => {
      open = resolve;
    });
    const { at, http, shut } = await attemptAt((response) => answer(response, 201, {}), {
      access: { credentials: () => opened },
    });
    const sending = http.send(charge, asCharge);

    const proven = shut();
    open({});

    expect(proven).toEqual({ type: 'not-applied', reason: 'its time was over', sent: false });
    expect(await sending).toMatchObject({ type: 'not-applied', sent: false });
    expect(at.requests).toHaveLength(0);
  });
});

describe('a charge that is given up after it left', () => {
  test('is unknown when its time is over, and nothing is proven by shutting the gate', async () => {
    const { at, http, shut } = await attemptAt(() => {}, { timeoutMs: 150 });

    const outcome = await http.send(charge, asCharge);

    expect(outcome).toEqual({ type: 'unknown', reason: 'no reply' });
    expect(shut()).toBeNull();
    expect(at.requests).toHaveLength(1);
  });

  test('is unknown when it is aborted', async () => {
    let received = () => {};
    const isThere = new Promise<void>((resolve) => {
      received = resolve;
    });
    const { http, abort } = await attemptAt(() => received());
    const sending = http.send(charge, asCharge);
    await isThere;

    abort.abort();

    expect(await sending).toEqual({ type: 'unknown', reason: 'no reply' });
  });
});

test('an attempt is one request: a second one is refused and not sent', async () => {
  const { at, http } = await attemptAt((response) => answer(response, 201, { id: 'ch_1' }));
  await http.send(charge, asCharge);

  await expect(http.send(charge, asCharge)).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });

  expect(at.requests).toHaveLength(1);
});

describe('a look-up that is asked by http', () => {
  test.each([
    [200, { id: 'ch_1' }, { type: 'found' }],
    [404, {}, { type: 'absent' }],
    [500, {}, { type: 'inconclusive', reason: 'status 500' }],
    [401, {}, { type: 'inconclusive', reason: 'status 401' }],
    [302, {}, { type: 'inconclusive', reason: 'status 302' }],
    [200, '{', { type: 'inconclusive', reason: 'an answer that cannot be read (status 200)' }],
  ])('and answered with %i %j is %j', async (status, body, expected) => {
    const { at, sender, sending } = await attemptAt((response) => answer(response, status, body));
    const http = sender.lookUp(sending);

    const finding = await http.ask({ url: '/charges?key=17' }, (reply) =>
      reply.status === 404 ? { type: 'absent' } : { type: 'found', records: [succeeded(reply.body)] },
    );

    expect(finding).toMatchObject(expected);
    expect(at.requests[0]).toMatchObject({ method: 'GET', url: '/charges?key=17' });
    expect(at.requests[0]?.headers['idempotency-key']).toBeUndefined();
  });
});

describe('a question that is asked by POST', () => {
  test('does not use up the key of the charge that it asks about', async () => {
    const { at, http, sender, sending } = await attemptAt(
      (response, { url }) => answer(response, 200, { id: 'ch_1', url }),
      { contract: charges({ key: { in: 'body', name: 'key' } }) },
    );
    const search = { method: 'POST', url: '/charges/search', json: { reference: 'order-17' } } as const;

    await sender.lookUp(sending).ask(search, ({ body }) => ({ type: 'found', records: [succeeded(body)] }));
    await http.get(search, asCharge);

    expect(at.requests.map(({ body }) => body)).toEqual([JSON.stringify(search.json), JSON.stringify(search.json)]);
  });
});

test('a provider of which nothing is known is sent to over a connection of its own each time', async () => {
  const { at, http, sender, sending } = await attemptAt((response) => answer(response, 201, { id: 'ch_1' }), {
    contract: null,
  });
  await http.send(charge, asCharge);
  await sender.attempt({ ...sending, mayLeave: () => null, firstSentAt: 0 }).http.send(charge, asCharge);

  expect(at.requests.map(({ headers }) => headers.connection)).toEqual(['close', 'close']);
});

describe("a charge that is sent by a vendor's SDK", () => {
  class CardsError extends Error {
    override readonly name = 'CardsError';
    readonly status: number;

    constructor(status: number) {
      super(`the SDK says ${status} of ${CARD}`);
      this.status = status;
    }
  }
  const replyIn = (error: unknown) =>
    error instanceof CardsError ? { status: error.status, headers: { 'Retry-After': '3' }, body: undefined } : null;
  const throws = (error: Error) => (): Promise<{ id: string }> => Promise.reject(error);

  test('succeeds as its answer is read', async () => {
    const { http } = await attemptAt(() => {});

    const outcome = await http.through(
      () => Promise.resolve({ id: 'ch_1' }),
      ({ id }) => succeeded(id),
      replyIn,
    );

    expect(outcome).toEqual(succeeded('ch_1'));
  });

  test.each([
    ['stands for a refusal', new CardsError(402), { type: 'failed', code: 'http-402', speaksFor: 'key' }],
    ['stands for too many', new CardsError(429), { type: 'not-applied', reason: 'status 429', retryAfterMs: 3_000 }],
    ['stands for no reply', new Error(`lost ${CARD}`), { type: 'unknown', reason: 'no reply' }],
  ])('and throws what %s has failed as far as that proves it', async (_what, error, expected) => {
    const { http, seen } = await attemptAt(() => {});

    const outcome = await http.through(throws(error), () => expect.unreachable(), replyIn);

    expect(outcome).toEqual(expected);
    expect(JSON.stringify(seen())).not.toContain(CARD);
  });

  test('is unknown where the answer cannot be read, and where the error cannot be', async () => {
    const unreadable = await attemptAt(() => {});
    const untold = await attemptAt(() => {});

    const read = await unreadable.http.through(
      () => null as unknown as { id: string },
      ({ id }) => succeeded(id),
      replyIn,
    );
    const told = await untold.http.through(
      throws(new Error()),
      () => succeeded(1),
      () => expect.unreachable(),
    );

    expect(read).toMatchObject({ type: 'unknown' });
    expect(told).toMatchObject({ type: 'unknown', reason: 'no reply' });
  });

  test('is not called when its time to be sent had passed', async () => {
    const { http } = await attemptAt(() => {}, { mayLeave: () => 'too late to send' });

    const outcome = await http.through(
      () => expect.unreachable(),
      () => succeeded(1),
      replyIn,
    );

    expect(outcome).toEqual({ type: 'not-applied', reason: 'too late to send', sent: false });
  });

  test('proves nothing when it is given up, because nobody sees when an SDK sends', async () => {
    const { http, shut, seen } = await attemptAt(() => {});
    void http.through(
      () => new Promise<never>(() => {}),
      () => succeeded(1),
      replyIn,
    );

    expect(shut()).toBeNull();
    expect(seen()?.result).toMatchObject({ type: 'unknown' });
  });
});

describe('a provider', () => {
  test.each([
    ['whose credentials could go to whatever address a reply names', { credentials: () => ({ authorization: 'b' }) }],
    ['with a password in its address', { url: 'https://shop:4242@cards.example/v1' }],
  ])('%s is refused, and nothing of it is told', (_what, access) => {
    const made = () => httpSender(systemClock(), { cards: access });

    expect(made).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }));
    expect(made).not.toThrow(/4242/);
  });
});

test('a sender that is closed sends nothing any more, neither a charge nor a question', async () => {
  const { at, http, sender, sending } = await attemptAt((response) => answer(response, 200, { id: 'ch_1' }));
  await sender.close();

  const outcome = await http.send(charge, asCharge);
  const finding = await sender.lookUp(sending).ask({ url: '/charges/ch_1' }, () => expect.unreachable());

  expect(outcome).toMatchObject({ type: 'not-applied', sent: false });
  expect(finding).toMatchObject({ type: 'inconclusive' });
  expect(at.requests).toHaveLength(0);
});

describe('a sender with connections of the host', () => {
  test('is not opened over what may send a request twice', async () => {
    const sender = httpSender(systemClock(), { cards: { dispatcher: new RetryAgent(new Agent()) } });

    await expect(sender.open()).rejects.toMatchObject({ code: 'DEFINITION_INVALID' });
  });

  test('sends over them, and leaves them open', async () => {
    const theirs = new Agent();
    closings.push(() => theirs.close());
    const { at, http, sender } = await attemptAt((response) => answer(response, 201, { id: 'ch_1' }), {
      access: { dispatcher: theirs },
    });
    await sender.open();

    await http.send(charge, asCharge);
    await sender.close();

    expect(at.requests).toHaveLength(1);
    expect(theirs.closed).toBe(false);
  });
});
