/**
 * Expected, wherever the process is killed. The caller: after submitting again, the same run. The bank, which would
 * charge for every request: no second charge, and none that is not recorded as begun. Operator: asked where the process
 * died with a request that may have left, and nowhere else.
 */

import { describe, expect, test } from 'vitest';
import { boundariesOf, type Flow, killAt, reply } from 'sagacity/testing';
import { charging, chargingBlindly, order } from '../support/rehearsed-charge.ts';

function charged(charge: ReturnType<typeof charging>): Flow {
  return { definitions: [charge], begin: (orchestrator) => orchestrator.submit(charge, order) };
}

describe('a request to a bank', () => {
  test('leaves only after what it is for is durable', async () => {
    const charge = charging();

    const boundaries = await boundariesOf({ ...charged(charge), script: [reply(charge, 'request-lost')] });

    const around = ['after birth', 'before request', 'after start', 'before request (2)'];
    const places = boundaries.map((boundary) => boundary.replace(' of card.charge', ''));
    expect(places.filter((place) => around.includes(place))).toEqual(around);
  });
});

describe('a charge that is killed at every boundary', () => {
  test('is made once at a bank that honours keys', async () => {
    const charge = charging();
    const flow = charged(charge);

    for (const boundary of await boundariesOf(flow)) {
      const { result, records } = await killAt(flow, boundary);
      expect([boundary, result.status, records(charge).length]).toEqual([boundary, 'succeeded', 1]);
    }
  });

  test('is made once or put before a person at a bank that ignores keys and cannot be asked', async () => {
    const charge = chargingBlindly();
    const flow = charged(charge);
    const ends: Record<string, unknown> = {};

    for (const boundary of await boundariesOf(flow)) {
      const { result, records } = await killAt(flow, boundary);
      ends[boundary.replace(' of card.charge', '')] = [result.status, records(charge).length];
    }

    expect(ends).toEqual({
      'before birth': ['succeeded', 1],
      // It was recorded as begun, and nobody knows whether it was sent.
      ...{ 'during birth': ['escalated', 0], 'after birth': ['escalated', 0], 'before request': ['escalated', 0] },
      ...{ 'after request': ['escalated', 1], 'before end': ['escalated', 1] },
      ...{ 'during end': ['succeeded', 1], 'after end': ['succeeded', 1] },
    });
  });
});
