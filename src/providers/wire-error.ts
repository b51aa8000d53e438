/**
 * Takes from an error of the connection what may be kept: its name and its code. The message stays behind, because it
 * may carry addresses, headers and parts of bodies; so does a name or a code that does not look like one.
 */

import type { WireError } from './arrival.ts';

/** Reads name and code; what is no error at all is called `Unknown`. */
export function wireError(error: unknown): WireError {
  return { name: member(error, 'name') ?? 'Unknown', code: member(error, 'code') };
}

/** Whether the error is the provider's word, over HTTP/2, that it did not process the request (RFC 9113, 8.7). */
export function isRefusedStream(error: unknown): boolean {
  return (
    error instanceof Error &&
    member(error, 'code') === 'ERR_HTTP2_STREAM_ERROR' &&
    error.message.includes('NGHTTP2_REFUSED_STREAM')
  );
}

function member(error: unknown, name: 'name' | 'code'): string | null {
  if (typeof error !== 'object' || error === null || !(name in error)) return null;
  // The line above found the member; of what type it is, is asked below.
  const value = (error as Record<typeof name, unknown>)[name];
  return typeof value === 'string' && /^\w{1,64}$/.test(value) ? value : null;
}
