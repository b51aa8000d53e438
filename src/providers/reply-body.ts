/**
 * The body of a reply while it is read, up to a cap. A body that came in one piece, as most do, is not copied.
 */

import { hash } from 'node:crypto';

const nothing = new Uint8Array(0);

export class ReplyBytes {
  readonly #maxBytes: number;
  readonly #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Keeps what fits below the cap; false when that was not all. */
  add(piece: Uint8Array): boolean {
    const room = this.#maxBytes - this.#size;
    const fits = piece.length <= room;
    const kept = fits ? piece : piece.subarray(0, room);
    if (kept.length > 0) this.#pieces.push(kept);
    this.#size += kept.length;
    return fits;
  }

  /** All that was kept. */
  bytes(): Uint8Array {
    const [only = nothing] = this.#pieces;
    return this.#pieces.length > 1 ? Buffer.concat(this.#pieces, this.#size) : only;
  }
}

/** SHA-256 in hexadecimal; null of nothing. */
export function digestOf(bytes: Uint8Array): string | null {
  return bytes.length === 0 ? null : hash('sha256', bytes, 'hex');
}
