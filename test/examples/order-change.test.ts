/** The example of an order that changes while orders are under way, run as its reader would. */

import { expect, test } from 'vitest';
import { runExample } from './run-example.ts';

test('an order that is under way goes on in the new version where it can, and nothing is made twice', async () => {
  const ran = await runExample('examples/order-change/main.ts');

  expect(ran).toEqual({
    ...{ code: 0, stderr: '' },
    stdout: [
      'order in version 1: 2 under way',
      'order in version 2: 0 under way',
      'of version 1: 1 to be moved, 1 left, 0 refused',
      'order-17 succeeded: authorisation, reservation, shipment',
      'order-18 succeeded: authorisation, job, reservation, shipment',
      '',
    ].join('\n'),
  });
}, 180_000);
