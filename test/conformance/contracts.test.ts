/**
 * Contracts and the suite that holds providers to them. Every contract that comes with the library is kept by the scripted
 * provider that speaks it, so that the suite asks for nothing else than what they say; and every lie is found, by the test
 * that is about it, so that the suite asks for all of it.
 */

import { contract, type Contract } from 'sagacity/providers';
import {
  type ContractEndpoint,
  type ContractLie,
  contractFindings,
  contractLies,
  contractProvider,
  type ContractProviderOptions,
  contractSuite,
  providerEndpoint,
} from 'sagacity/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { presetContracts } from '../providers/preset-contracts.ts';

/** A contract that says all there is, and can be kept or broken in every way. */
const full = (name: string, sameKey: Partial<NonNullable<Contract['sameKey']>> = {}): Contract =>
  contract({
    ...{ name: `example/${name}`, version: '1', docs: 'https://docs.provider.example', verified: 'unverified' },
    key: { in: 'query', name: 'key', firstSentHeader: 'First-Sent' },
    keyRetention: '1d',
    sameKey: {
      ...{ afterSuccess: 'first-reply', whileRunning: 'refused', afterRefusal: 'first-reply' },
      ...{ afterServerError: 'resumes', otherParameters: 'refused', ...sameKey },
    },
    lookup: { by: 'key', visibleWithin: '1m' },
    replies: [
      { status: 409, proves: 'running' },
      { status: 422, body: { 'errors.1.code': 'key_reused' }, proves: 'key-conflict' },
      { status: 410, headers: { 'x-late': '*' }, proves: 'too-late' },
      { status: 208, proves: 'done-before' },
    ],
    ...{ codeAt: 'errors.0.code', replayHeader: 'Replayed' },
  });

const furtherContracts: readonly Contract[] = [
  full('waits', { whileRunning: 'waits', afterServerError: 'first-reply' }),
  full('told', { afterSuccess: 'told', otherParameters: 'first-reply', afterRefusal: 're-executes' }),
  full('re-executes', {
    afterServerError: 're-executes',
    otherParameters: 're-executes',
    afterSuccess: 'current-state',
  }),
];

/** A clock that goes on by itself and can be moved on. */
function movableClock() {
  let movedMs = 0;
  return {
    now: () => Date.now() + movedMs,
    passes: async (ms: number) => {
      movedMs += ms;
    },
  };
}

async function endpointOf(
  under: Contract,
  options: ContractProviderOptions = {},
): Promise<[ContractEndpoint, () => Promise<void>]> {
  const clock = movableClock();
  const provider = await contractProvider(under, { ...options, clock });
  const endpoint = providerEndpoint(provider, { passes: clock.passes, patienceMs: Number.POSITIVE_INFINITY });
  return [endpoint, () => provider.close()];
}

const all = full('all-of-it');
const [honest, closeHonest] = await endpointOf(all);
afterAll(closeHonest);

contractSuite(all, honest, { describe, expect, test });

describe.concurrent('a provider that keeps its contract', () => {
  test.each([...presetContracts, ...furtherContracts])('is found to keep all that $name says', async (under) => {
    const [endpoint, close] = await endpointOf(under);

    const findings = await contractFindings(under, endpoint);

    await close();
    expect(findings.filter(({ found }) => found === 'broken')).toEqual([]);
    const untried = findings.filter(({ found }) => found === 'not-tried').map(({ detail }) => detail);
    expect(
      untried.filter(
        (why) => !/^(it takes no key|the contract does not say|there is no look-up|it does not say)/.test(`${why}`),
      ),
    ).toEqual([]);
  });

  test('is asked everything, where its contract says all there is', async () => {
    const findings = await contractFindings(all, honest);

    expect(findings.map(({ found }) => found)).toEqual(Array.from({ length: 12 }, () => 'kept'));
  });
});

const proves = 'makes a record, and the reply proves it';
const secondSend = 'answers a second send under the same key as the contract says';
const atOnce = 'makes one record of many sends at once';
const underWay = 'answers a send while the first is under way as the contract says';
const otherParameters = 'answers other parameters under a used key as the contract says';
const keysApart = 'tells keys apart that differ only at their end';
const afterRefusal = 'answers a send after a refusal as the contract says';
const afterError = 'answers a send after an error of its own as the contract says';
const retention = 'knows the key until its retention is over';
const tooLate = 'refuses what comes after its retention';
const visible = 'shows a record to the look-up within the time that the contract says';
const neverSent = 'shows nothing to a look-up of what was never sent';

const foundBy: { readonly [Lie in ContractLie]: readonly string[] } = {
  'ignores-the-key': [secondSend, otherParameters, atOnce, underWay, afterRefusal, afterError, retention, tooLate],
  'cuts-keys': [keysApart],
  'forgets-early': [retention],
  'takes-late-ones': [tooLate],
  'replays-nothing': [secondSend, atOnce, retention],
  'replays-another-id': [secondSend, atOnce, retention],
  'replays-what-is-new': [proves],
  'replays-in-silence': [secondSend],
  'doubles-at-once': [atOnce, underWay],
  'waits-in-silence': [underWay],
  'refuses-in-other-words': [underWay],
  'does-what-conflicts': [otherParameters],
  'does-other-parameters': [otherParameters],
  'releases-after-refusal': [afterRefusal],
  'repeats-after-error': [afterError],
  'shows-late': [visible],
  'shows-another': [neverSent],
};

describe.concurrent('a provider that lies', () => {
  test('is thought of in at least ten ways', () => {
    expect(Object.keys(contractLies).length).toBeGreaterThanOrEqual(10);
    expect(Object.keys(foundBy)).toEqual(Object.keys(contractLies));
  });

  test.each(Object.entries(contractLies) as [ContractLie, string][])('is found out, where it %s: %s', async (lie) => {
    const [endpoint, close] = await endpointOf(all, { lies: [lie], takesMs: lie === 'doubles-at-once' ? 200 : 0 });

    const findings = await contractFindings(all, endpoint);

    const broken = findings.filter(({ found }) => found === 'broken').map(({ check }) => check);
    await close();
    expect(broken).toEqual(foundBy[lie]);
  });
});

describe.concurrent('a provider that lies where nobody can count', () => {
  /** What it says is true, and what it does not say is what it does. */
  const onlyCounted: readonly ContractLie[] = ['does-what-conflicts', 'repeats-after-error'];
  const told = Object.keys(contractLies).filter((lie) => !onlyCounted.some((counted) => counted === lie));

  test.each(told as ContractLie[])('is found out by its replies, where it %s', async (lie) => {
    const [{ count: _, ...endpoint }, close] = await endpointOf(all, { lies: [lie] });

    const findings = await contractFindings(all, endpoint);

    const broken = findings.filter(({ found }) => found === 'broken').map(({ check }) => check);
    await close();
    const [first] = foundBy[lie].filter((check) => check !== atOnce);
    expect(broken).toContain(first);
  });

  test('is found out where it cuts keys and compares no parameters, by the record that two keys name', async () => {
    const silent = full('silent', { otherParameters: 'first-reply' });
    const [{ count: _, ...endpoint }, close] = await endpointOf(silent, { lies: ['cuts-keys'] });

    const findings = await contractFindings(silent, endpoint);

    await close();
    const broken = findings.filter(({ found }) => found === 'broken');
    expect(broken).toEqual([
      { check: keysApart, found: 'broken', detail: expect.stringMatching(/^two keys are one record/) },
    ]);
  });

  test.each(onlyCounted)('is believed, where it %s', async (lie) => {
    const [{ count: _, ...endpoint }, close] = await endpointOf(all, { lies: [lie] });

    const findings = await contractFindings(all, endpoint);

    await close();
    expect(findings.filter(({ found }) => found === 'broken')).toEqual([]);
  });
});

describe('an endpoint that can do no more than send', () => {
  test('has tried nothing else, and does not say that it is kept', async () => {
    const [{ send, idIn }, close] = await endpointOf(all);

    const findings = await contractFindings(all, { send, idIn });

    await close();
    const untried = findings.filter(({ found }) => found === 'not-tried').map(({ check, detail }) => [check, detail]);
    expect(untried).toEqual([
      [underWay, 'the endpoint has no means to hold what is under way'],
      [afterRefusal, 'the endpoint has no means to have a request refused'],
      [afterError, 'the endpoint has no means to have a request fail'],
      [retention, 'it takes 1d'],
      [tooLate, 'it takes 1d'],
      [visible, 'the endpoint has no means to look up'],
      [neverSent, 'the endpoint has no means to look up'],
    ]);
    expect(findings.filter(({ found }) => found === 'broken')).toEqual([]);
  });

  test('declares it as still to be done', async () => {
    const [{ send, idIn }, close] = await endpointOf(all);
    const declared: string[] = [];
    const todo: string[] = [];
    const recording = Object.assign((name: string) => declared.push(name), { todo: (name: string) => todo.push(name) });

    contractSuite(all, { send, idIn }, { describe: (_, body) => body(), test: recording, expect });

    await close();
    expect(declared.length).toBe(5);
    expect(todo).toContain(`${retention} (not tried: it takes 1d)`);
  });

  test('fails where it has no answer, and blames nobody for it', async () => {
    const [endpoint, close] = await endpointOf(all);
    await close();

    const findings = contractFindings(all, endpoint);

    await expect(findings).rejects.toThrow('fetch failed');
  });
});
