/**
 * The contracts that the library ships: where each was read, and what the replies that its documentation shows prove. The
 * page of all of them, `presets.md`, is what a reader of the documentation sees; a change of one shows there.
 */

import { type Contract, goCardless, paypal, stripeV1 } from 'sagacity/providers';
import { formatDuration } from '../../src/domain/duration.ts';
import { type Verdict, verdictOf } from '../../src/domain/reply.ts';
import { describe, expect, test } from 'vitest';
import { companyContracts, genericContracts, presetContracts } from './preset-contracts.ts';

const named = (name: string): Contract => {
  const found = presetContracts.find((each) => each.name === name);
  if (found === undefined) throw new Error(`There is no contract ${name}.`);
  return found;
};

const FOR_EVER = 36_525 * 86_400_000;

describe('the contracts that come with the library', () => {
  test('each have a name of their own, a version, and the page where they were read', () => {
    const names = presetContracts.map(({ name }) => name);

    expect(new Set(names).size).toBe(names.length);
    expect(companyContracts.length).toBe(18);
    for (const { docs, version } of presetContracts) {
      expect(docs).toMatch(/^https:\/\//);
      expect(version).toMatch(/^\d+$/);
    }
  });

  test('of companies say on which day that was', () => {
    expect(new Set(companyContracts.map(({ verifiedOn }) => verifiedOn))).toEqual(new Set(['2026-11-30']));
  });

  test('are these', async () => {
    await expect(page()).toMatchFileSnapshot('./presets.md');
  });

  test('promise nothing unasked of a provider that does not say how long it remembers', () => {
    const forgetful = presetContracts.filter(({ key, keyRetentionMs }) => key !== null && keyRetentionMs === null);

    const verdicts = forgetful.map((each) => verdictOf(each, { type: 'none', refusedStream: false }, 0).sendAgain);

    expect(new Set(forgetful.map(({ name }) => name.split('/')[0]))).toEqual(new Set(['gocardless', 'square']));
    expect(new Set(verdicts)).toEqual(new Set(['ask-first']));
  });
});

/** A reply as the documentation shows it, and what it proves. */
type Documented = [contract: string, status: number, body: unknown, headers: Record<string, string>, Partial<Verdict>];

const documented: readonly Documented[] = [
  ...stripe(
    402,
    { code: 'card_declined', type: 'card_error' },
    { proves: 'refused', code: 'card_declined', speaksFor: 'key' },
  ),
  ...stripe(
    400,
    { type: 'invalid_request_error', code: 'parameter_missing' },
    { proves: 'refused', speaksFor: 'send' },
  ),
  ...stripe(400, { type: 'idempotency_error' }, { proves: 'key-conflict' }),
  ...stripe(
    409,
    { type: 'invalid_request_error', code: 'idempotency_key_in_use' },
    { proves: 'running', sendAgain: 'unasked' },
  ),
  ...stripe(409, { type: 'invalid_request_error', code: 'other' }, { proves: 'unknown', sendAgain: 'ask-first' }),
  ...stripe(401, { type: 'invalid_request_error' }, { proves: 'locked-out' }),
  ...stripe(429, { type: 'rate_limit_error' }, { proves: 'not-done' }),
  // It is saved, and would be given again for ever.
  ...stripe(500, { type: 'api_error' }, { proves: 'unknown', sendAgain: 'ask-first' }),
  ...stripe(503, { type: 'api_error' }, { proves: 'unknown', sendAgain: 'unasked' }),
  ['stripe-v1/charges', 200, {}, { 'idempotent-replayed': 'true' }, { proves: 'done', isReplay: true }],
  ['stripe-v2/outbound-payments', 500, {}, {}, { proves: 'unknown', sendAgain: 'unasked' }],
  ['stripe-v2/outbound-payments', 400, { error: { type: 'idempotency_error' } }, {}, { proves: 'key-conflict' }],
  ['stripe-v2/outbound-payments', 409, {}, {}, { proves: 'unknown', sendAgain: 'ask-first' }],
  [
    ...([
      'paypal-orders-v2/orders',
      409,
      { name: 'RESOURCE_CONFLICT', details: [{ issue: 'PREVIOUS_REQUEST_IN_PROGRESS' }] },
    ] as const),
    ...([{}, { proves: 'running', sendAgain: 'unasked' }] as const),
  ],
  [
    ...(['paypal-payments-v2/captures', 422, { details: [{ issue: 'DUPLICATE_INVOICE_ID' }] }, {}] as const),
    { proves: 'unknown', sendAgain: 'ask-first' },
  ],
  [
    ...(['paypal-payments-v2/refunds', 422, { details: [{ issue: 'CAPTURE_FULLY_REFUNDED' }] }, {}] as const),
    { proves: 'refused', code: 'CAPTURE_FULLY_REFUNDED' },
  ],
  ['paypal-orders-v2/captures', 500, {}, {}, { proves: 'unknown', sendAgain: 'unasked' }],
  ['adyen-checkout/payments', 422, { errorCode: '704' }, { 'transient-error': 'true' }, { proves: 'running' }],
  ['adyen-checkout/payments', 409, { errorCode: '704' }, {}, { proves: 'running', sendAgain: 'unasked' }],
  ['adyen-checkout/payments', 503, { errorCode: '703' }, {}, { proves: 'not-done' }],
  ['adyen-checkout/payments', 500, {}, { 'transient-error': 'true' }, { proves: 'not-done' }],
  ['adyen-checkout/payments', 500, {}, { 'transient-error': 'false' }, { proves: 'unknown', sendAgain: 'ask-first' }],
  ['adyen-checkout/payments', 503, {}, {}, { proves: 'unknown', sendAgain: 'ask-first' }],
  [
    ...(['gocardless/payments', 409] as const),
    { error: { type: 'invalid_state', errors: [{ reason: 'idempotent_creation_conflict' }] } },
    ...([{}, { proves: 'done-before' }] as const),
  ],
  [
    'gocardless/payments',
    409,
    { error: { type: 'invalid_state', errors: [{ reason: 'mandate_cancelled' }] } },
    {},
    { proves: 'unknown' },
  ],
  [
    ...(['increase/ach-transfers', 409, { type: 'idempotency_key_already_used_error', resource_id: 'x' }, {}] as const),
    { proves: 'key-conflict' },
  ],
  ['increase/ach-transfers', 200, { id: 'x' }, { 'idempotent-replayed': 'true' }, { proves: 'done', isReplay: true }],
  ['square/payments', 400, { errors: [{ code: 'IDEMPOTENCY_KEY_REUSED' }] }, {}, { proves: 'key-conflict' }],
  ['square/payments', 400, { errors: [{ code: 'CARD_DECLINED' }] }, {}, { proves: 'refused', code: 'CARD_DECLINED' }],
  ['example/idempotency-key-header', 400, {}, {}, { proves: 'refused' }],
  ['example/idempotency-key-header', 409, {}, {}, { proves: 'running', sendAgain: 'unasked' }],
  ['example/idempotency-key-header', 422, {}, {}, { proves: 'key-conflict' }],
  ['example/natural-reference', 409, {}, {}, { proves: 'done-before' }],
  ['example/natural-reference', 500, {}, {}, { proves: 'unknown', sendAgain: 'ask-first' }],
  ['example/repeatable-requests', 412, {}, { 'repeatability-result': 'rejected' }, { proves: 'too-late' }],
  ['example/repeatable-requests', 409, {}, {}, { proves: 'running', sendAgain: 'unasked' }],
  ['example/repeatable-requests', 400, {}, { 'repeatability-result': 'rejected' }, { proves: 'key-conflict' }],
  ['example/repeatable-requests', 400, {}, { 'repeatability-result': 'accepted' }, { proves: 'refused' }],
  ['example/lookup-only', 409, {}, {}, { proves: 'unknown', sendAgain: 'ask-first' }],
  ['no-contract', 402, {}, {}, { proves: 'refused', code: 'http-402' }],
];

function stripe(status: number, error: object, proven: Partial<Verdict>): Documented[] {
  return Object.values(stripeV1).map(({ name }) => [name, status, { error }, {}, proven]);
}

describe('a reply that the documentation shows', () => {
  test.each(documented)('of %s, %d %j with %j, proves %j', (name, status, body, headers, proven) => {
    const verdict = verdictOf(named(name), { type: 'reply', status, headers, body: { type: 'whole', value: body } }, 0);

    expect(verdict).toMatchObject(proven);
  });

  test('is shown of every rule of every contract', () => {
    const shown = (each: Contract, rule: Contract['replies'][number]) =>
      documented.some(([name, status, body, headers]) => {
        const reply = { type: 'reply', status, headers, body: { type: 'whole', value: body } } as const;
        const alone = verdictOf({ ...each, replies: [{ ...rule, proves: 'accepted' }] }, reply, 0);
        return family(name) === family(each.name) && status !== 202 && alone.proves === 'accepted';
      });
    const family = (name: string) =>
      name.startsWith('example/') ? name : name.split('/')[0]?.replace(/-(orders|payments)-v2/, '');

    const unseen = presetContracts.flatMap((each) => each.replies.filter((rule) => !shown(each, rule)));

    expect(unseen).toEqual([]);
  });
});

describe('one provider', () => {
  test('may remember keys for another time in each of its APIs', () => {
    const retained = [paypal.orders, paypal.orderCaptures, paypal.captures, paypal.refunds].map(
      (each) => each.keyRetentionMs,
    );

    expect(retained).toEqual([6, 6, 45 * 24, 45 * 24].map((hours) => hours * 3_600_000));
  });

  test('that tells what it made before does so of other parameters too, and is no conflict by that', () => {
    expect(goCardless.payments.sameKey).toMatchObject({ afterSuccess: 'told', otherParameters: 'first-reply' });
    expect(genericContracts.map(({ name }) => name)).toContain('no-contract');
  });
});

/** The page of all contracts, in Markdown. */
function page(): string {
  const head = [
    'contract',
    'key',
    'kept',
    'after success',
    'while running',
    'after a refusal',
    'after a 5xx',
    'other parameters',
    'look-up',
    'read on',
  ];
  const rows = presetContracts.map((each) => {
    const { key, sameKey, lookup, keyRetentionMs } = each;
    const kept =
      keyRetentionMs === FOR_EVER ? 'for ever' : keyRetentionMs === null ? 'unsaid' : formatDuration(keyRetentionMs);
    const { afterSuccess, whileRunning, afterRefusal, afterServerError, otherParameters } = sameKey ?? {};
    const asked = lookup === null ? '' : `${lookup.by}, within ${formatDuration(lookup.visibleWithinMs)}`;
    return [
      `[${each.name}](${each.docs})`,
      key === null ? '' : `${key.in} \`${key.name}\`${key.encoding === 'raw' ? '' : ', quoted'}`,
      key === null ? '' : kept,
      ...[afterSuccess, whileRunning, afterRefusal, afterServerError, otherParameters].map((word) => word ?? ''),
      asked,
      each.verifiedOn ?? 'unverified',
    ];
  });
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}
