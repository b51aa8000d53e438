/**
 * What goes over NATS: subjects, which hold hashes only, and small letters, which are checked before anything is
 * believed of them. Neither ever holds a parameter, a key or an output.
 */

import { createHash } from 'node:crypto';
import { isKeyText, KEY_LENGTH_MAX } from '../../domain/text.ts';
import { keyOf, type OperationRef, refOf } from '../../ports/store.ts';
import type { Wake } from '../../ports/waker.ts';

/** The subjects of one database. Those of another one never meet them. */
export interface Subjects {
  readonly said: string;
  readonly due: string;
  readonly freed: string;
  /** Of each one that somebody may watch. */
  readonly changed: (ref: OperationRef) => string;
  /** Timers, which a stream of this name keeps. */
  readonly timers: string;
  readonly stream: string;
}

export function subjectsOf(ledger: string): Subjects {
  const root = `sagacity.${hashed(ledger)}`;
  return {
    said: `${root}.said`,
    due: `${root}.due`,
    freed: `${root}.freed`,
    changed: (ref) => `${root}.changed.${hashed(keyOf(ref))}`,
    timers: `${root}.timers`,
    stream: `SAGACITY_${hashed(ledger)}`,
  };
}

/** A wake that comes after its delay. */
export interface TimerLetter {
  readonly wake: Wake;
  readonly delayMs: number;
}

/** Longer than any tenant and id can make a letter; what is longer is not looked into. */
const LETTER_BYTES_MAX = 8_192;

/** Null: it is none, whoever sent it. */
export function refIn(letter: Uint8Array): OperationRef | null {
  const text = textIn(letter);
  return text === null ? null : refOf(text);
}

/** What is told of a change: it rests now, or moves on. */
export function changeLetter(rests: boolean): string {
  return rests ? 'rests' : 'moves';
}

/** As {@link refIn}. */
export function changeIn(letter: Uint8Array): { readonly rests: boolean } | null {
  const rests = [true, false].find((each) => Buffer.from(changeLetter(each)).equals(letter));
  return rests === undefined ? null : { rests };
}

export function timerLetter({ wake: { tenant, operationId, generation }, delayMs }: TimerLetter): string {
  return JSON.stringify([tenant, operationId, generation, delayMs]);
}

/** As {@link refIn}. */
export function timerIn(letter: Uint8Array): TimerLetter | null {
  const parts = partsOf(letter);
  if (parts?.length !== 4) return null;
  const [tenant, operationId, generation, delayMs] = parts;
  if (!isKeyText(tenant, KEY_LENGTH_MAX) || !isKeyText(operationId, KEY_LENGTH_MAX)) return null;
  if (!isAmount(delayMs) || !isAmount(generation) || !Number.isSafeInteger(generation)) return null;
  return { wake: { tenant, operationId, generation }, delayMs };
}

const letters = new TextDecoder('utf-8', { fatal: true });

function textIn(letter: Uint8Array): string | null {
  if (letter.length > LETTER_BYTES_MAX) return null;
  try {
    return letters.decode(letter);
  } catch {
    return null;
  }
}

function partsOf(letter: Uint8Array): readonly unknown[] | null {
  try {
    const parts: unknown = JSON.parse(textIn(letter) ?? '');
    return Array.isArray(parts) ? parts : null;
  } catch {
    return null;
  }
}

function isAmount(given: unknown): given is number {
  return typeof given === 'number' && Number.isFinite(given) && given >= 0;
}

/** 120 bits, in letters that a subject and the name of a stream can hold. */
function hashed(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex').slice(0, 30);
}
