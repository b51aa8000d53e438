import { describe, expect, test } from 'vitest';
import { runExample } from './run-example.ts';

describe('the example of one operation', () => {
  test('shows a lost reply that is looked up, and a second submission that is a replay', async () => {
    const ran = await runExample('examples/one-operation/main.ts');

    expect(ran).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        'start: pending, in-progress',
        'end: unknown',
        'lookup: succeeded',
        'charged once: charge_1',
        'submitted again: replayed',
        'charges at the provider: 1',
        '',
      ].join('\n'),
    });
  }, 180_000);
});
