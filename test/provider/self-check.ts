/**
 * Proves the provider before anything is proven with it: that a failure before the commit leaves nothing, one after
 * it leaves one record, a key stands for one payload, a new key makes a duplicate, and a lost reply can be looked
 * up. Every other test counts this provider's records, so if it counted wrongly they would all be worthless.
 */

import assert from 'node:assert/strict';
import { providerAt } from '../../src/testing/provider/index.ts';
import { get, post } from './http-call.ts';

/** Runs every assertion against the provider at `url`, which is empty before and after; throws on the first that fails. */
export async function selfCheck(url: string): Promise<void> {
  const provider = providerAt(url);
  const count = async () => (await get(url, '/_test/jobs')).body['count'];
  await provider.reset();

  await provider.faults(['fail-before-commit']);
  const refused = await post(url, '/jobs', 'order-1', { orderId: 'order-1', amount: 10 });
  assert.equal(refused.status, 503, 'a failure before the commit answers 503');
  assert.equal(await count(), 0, 'a failure before the commit leaves nothing');
  const made = await post(url, '/jobs', 'order-1', { orderId: 'order-1', amount: 10 });
  assert.equal(made.status, 201, 'the retry is the first to be done');
  assert.equal(await count(), 1, 'the retry makes one record');

  await provider.faults(['commit-then-error']);
  const failed = await post(url, '/jobs', 'order-2', { orderId: 'order-2', amount: 20 });
  assert.equal(failed.status, 503, 'a failure after the commit answers 503 as well');
  assert.equal(failed.text, refused.text, 'the two failures look the same from outside');
  assert.equal(await count(), 2, 'a failure after the commit leaves a record');
  const replayed = await post(url, '/jobs', 'order-2', { amount: 20, orderId: 'order-2' });
  assert.equal(replayed.status, 200, 'the retry is answered from the record');
  assert.equal(replayed.replayed, true, 'the replay says that it is one');
  assert.equal(await count(), 2, 'the replay makes no second record');

  const changed = await post(url, '/jobs', 'order-2', { orderId: 'order-2', amount: 21 });
  assert.equal(changed.status, 422, 'a known key refuses another payload');
  assert.deepEqual(changed.body, { error: 'idempotency_key_reused_with_different_payload' });
  assert.equal(await count(), 2, 'a refused payload makes no record');

  await post(url, '/jobs', 'order-3-attempt-1', { orderId: 'order-3' });
  await post(url, '/jobs', 'order-3-attempt-2', { orderId: 'order-3' });
  const forOneOrder = (await provider.records({ kind: 'job' })).filter(({ orderId }) => orderId === 'order-3');
  assert.equal(forOneOrder.length, 2, 'a new key for each attempt makes a duplicate');

  await provider.faults(['commit-then-drop']);
  await assert.rejects(
    post(url, '/jobs', 'order/4', { orderId: 'order-4' }),
    'a dropped connection rejects at the client',
  );
  const found = await get(url, `/jobs/by-idempotency-key/${encodeURIComponent('order/4')}`);
  assert.equal(found.status, 200, 'the record of a lost reply is found by its key');
  assert.equal(found.body['orderId'], 'order-4');
  const absent = await get(url, '/jobs/by-idempotency-key/order-5');
  assert.equal(absent.status, 404, 'a key that was never sent is not found');
  assert.deepEqual(absent.body, { error: 'not_found' });
  assert.equal(await count(), 5, 'the ledger holds what was done and nothing else');

  await provider.reset();
  assert.equal(await count(), 0, 'a reset leaves an empty ledger');
}
