import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ISSUES_MAX, isSchema, type Schema, typed, validate } from '../../src/define/schema.ts';
import { isSagacityError, type SagacityError } from '../../src/domain/errors.ts';

const subject = 'The input of card.charge';
const secret = '4111-1111-1111-1111';

async function refusalOf(schema: Schema, value: unknown): Promise<SagacityError> {
  try {
    await validate(schema, value, subject);
  } catch (error) {
    if (isSagacityError(error, 'INPUT_INVALID')) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

function callable(schema: Schema): Schema {
  return Object.assign(() => undefined, { '~standard': schema['~standard'] });
}

describe('a value that fits its schema', () => {
  test('comes out at once, with defaults and transforms applied', () => {
    const zodded = z.object({ currency: z.string().default('EUR'), amount: z.coerce.number() });
    const valid = v.object({ note: v.optional(v.string(), 'none'), code: v.pipe(v.string(), v.toUpperCase()) });

    expect(validate(zodded, { amount: '12' }, subject)).toEqual({ currency: 'EUR', amount: 12 });
    expect(validate(valid, { code: 'x' }, subject)).toEqual({ note: 'none', code: 'X' });
  });

  test('comes out later when the schema has to wait', async () => {
    const zodded = z.object({ id: z.string().refine(async () => true) });
    const valid = v.objectAsync({
      id: v.pipeAsync(
        v.string(),
        v.checkAsync(async () => true),
      ),
    });

    const outputs = [validate(zodded, { id: 'a' }, subject), validate(valid, { id: 'b' }, subject)];

    expect(outputs.every((output) => output instanceof Promise)).toBe(true);
    expect([await outputs[0], await outputs[1]]).toEqual([{ id: 'a' }, { id: 'b' }]);
  });

  test('comes out unchanged from typed(), whatever it is', () => {
    const value = { anything: [1] };

    expect(validate(typed<{ id: string }>(), value, subject)).toBe(value);
  });
});

describe('a value that does not fit', () => {
  const shapes: [string, Schema][] = [
    ['zod', z.object({ lines: z.array(z.object({ 'unit price': z.number() })) })],
    [
      'zod, asynchronous',
      z.object({ lines: z.array(z.object({ 'unit price': z.number().refine(async () => true) })) }),
    ],
    ['valibot', v.object({ lines: v.array(v.object({ 'unit price': v.number() })) })],
    ['valibot, asynchronous', v.objectAsync({ lines: v.arrayAsync(v.objectAsync({ 'unit price': v.number() })) })],
  ];

  test.each(shapes)('is refused with the place and the rule (%s)', async (_, schema) => {
    const error = await refusalOf(schema, { lines: [{ 'unit price': 1 }, { 'unit price': secret }] });

    expect(error.message).toBe(`${subject} does not fit its schema: one rule is broken, at lines[1]["unit price"].`);
    expect(error.facts).toEqual({
      issues: [{ path: 'lines[1]["unit price"]', message: expect.stringMatching(/number/) }],
    });
  });

  test.each([
    ['valibot quotes it', v.object({ card: v.number() }), { card: secret }],
    ['valibot quotes it with escapes', v.object({ card: v.number() }), { card: `"${secret}"\n` }],
    [
      'a message of one own quotes it',
      z.object({ card: z.string().refine(() => false, { error: ({ input }) => `no ${String(input)}` }) }),
      { card: secret },
    ],
    ['it is longer than the message may be', v.object({ card: v.number() }), { card: `${secret} `.repeat(40) }],
    ['a number is quoted', v.object({ card: v.pipe(v.number(), v.maxValue(5)) }), { card: 41111111 }],
    ['the value itself is refused', v.picklist(['visa', 'other']), secret],
  ])('is not repeated in the error when %s', async (_, schema, value) => {
    const error = await refusalOf(schema, value);

    expect(JSON.stringify(error)).not.toMatch(/1111/);
    expect(JSON.stringify(error.facts)).toMatch(/<string>|<number>/);
    expect(error.cause).toBeUndefined();
  });

  test('names the value itself when the rule is about the whole', async () => {
    const error = await refusalOf(z.string(), 3);

    expect(error.message).toContain('at the value itself');
    expect(error.facts).toMatchObject({ issues: [{ path: '' }] });
  });

  test('lists a limited number of broken rules and says how many there are', async () => {
    const error = await refusalOf(
      z.array(z.string()),
      Array.from({ length: 1000 }, () => 1),
    );

    expect(error.facts['issues']).toHaveLength(ISSUES_MAX);
    expect(error.message).toContain('1000 rules are broken, at [0], [1], [2], [3], [4] and further.');
  });
});

describe('what counts as a schema', () => {
  test('is what carries the standard, callable or not', () => {
    const schemas = [typed(), z.string(), v.string(), callable(z.string())];

    expect(schemas.map(isSchema)).toEqual([true, true, true, true]);
    expect(validate(callable(z.string()), 'a', subject)).toBe('a');
  });

  test('is nothing else', () => {
    const others = [undefined, null, 'string', {}, () => true, { '~standard': null }, { '~standard': { version: 2 } }];

    expect(others.filter(isSchema)).toEqual([]);
  });
});
