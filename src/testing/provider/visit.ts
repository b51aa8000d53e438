/**
 * One request to a business path while it is being served, and the ways to end it that every path shares. Whatever
 * leaves is noted in the log as the status the client was sent; where nothing left, the log keeps its null.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { answer, answerGarbage, drop } from './exchange.ts';
import type { OpenRequest } from './log.ts';
import { modeText } from './modes.ts';
import type { Mode } from './modes.ts';

export interface Visit {
  readonly kind: string;
  readonly key: string | null;
  /** The path ignores keys. */
  readonly keyless: boolean;
  readonly open: OpenRequest;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** False once the provider was reset: what this request still meant to do must not happen any more. */
  readonly stillCounts: () => boolean;
}

export function noteMode({ open }: Visit, mode: Mode<string>): void {
  if (mode.name !== 'ok') open.note({ fault: modeText(mode) });
}

export function reply({ open, response }: Visit, status: number, body: object, headers: object = {}): void {
  if (answer(response, status, body, headers)) open.note({ status });
}

export function replyGarbage({ open, response }: Visit, status: number): void {
  if (answerGarbage(response, status)) open.note({ status });
}

export function replyNothing({ open, response }: Visit): void {
  open.log('DROPPED');
  drop(response);
}

/** Refuses a request that was never an operation: the log says why in the words of the answer. */
export function reject(visit: Visit, status: number, error: string, headers: object = {}): void {
  visit.open.log('REJECTED', { status, reason: error });
  reply(visit, status, { error }, headers);
}
