/** What may be kept of an error of the wire: what it is called, and nothing of what it says. */

import { describe, expect, test } from 'vitest';
import { isRefusedStream, wireError } from '../../src/providers/wire-error.ts';

describe('an error of the wire', () => {
  test('keeps its name and its code, and leaves its message', () => {
    const error = Object.assign(new TypeError('connect to psp.example'), { code: 'ECONNREFUSED' });

    expect(wireError(error)).toEqual({ name: 'TypeError', code: 'ECONNREFUSED' });
  });

  test.each([
    [new Error('without a code'), { name: 'Error', code: null }],
    [
      { name: 'card 4111', code: 'https://psp.example/?key=order-17' },
      { name: 'Unknown', code: null },
    ],
    [
      { name: 'E'.repeat(65), code: 17 },
      { name: 'Unknown', code: null },
    ],
    ['ECONNRESET', { name: 'Unknown', code: null }],
    [null, { name: 'Unknown', code: null }],
  ])('is taken for a name and a code only where it looks like them: %s', (error, kept) => {
    expect(wireError(error)).toEqual(kept);
  });
});

describe('a refused stream', () => {
  const of = (code: string, message: string) => Object.assign(new Error(message), { code });

  test('is one that the HTTP/2 end refused, and nothing that only says so', () => {
    expect(isRefusedStream(of('ERR_HTTP2_STREAM_ERROR', 'Stream closed with NGHTTP2_REFUSED_STREAM'))).toBe(true);
    expect(isRefusedStream(of('ERR_HTTP2_STREAM_ERROR', 'Stream closed with NGHTTP2_CANCEL'))).toBe(false);
    expect(isRefusedStream(of('ECONNRESET', 'NGHTTP2_REFUSED_STREAM'))).toBe(false);
    expect(isRefusedStream('NGHTTP2_REFUSED_STREAM')).toBe(false);
  });
});
