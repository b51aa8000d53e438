/**
 * One direction of one connection: a queue in order of arrival, from which a fault's treatment takes. Order is kept
 * whatever the fault, and nothing is sent behind a gap: once bytes were swallowed this direction stays silent, because
 * TCP would never show its peer a stream with a hole. What is kept is kept in memory, without a limit.
 */

import type { Socket } from 'node:net';
import type { Direction, Go, Treatment } from './faults.ts';

export interface Flow {
  push(bytes: Buffer): void;
  /**
   * Does `act` behind everything pushed so far. If this direction is held now, the receiver must have answered first: a
   * server that cancels what a vanished client asked for would else not carry out what was held.
   */
  finish(act: () => void): void;
  /** Takes from the queue in this way from now on. */
  treat(treatment: Treatment): void;
}

interface Waiting {
  bytes: Buffer;
  /** What ends the stream, instead of bytes. */
  readonly act?: () => void;
  readonly since: number;
  readonly chance: number;
}

/** `cut` is called when the treatment says so, as soon as the bytes before it are on their way. */
export function flow(direction: Direction, to: Socket, initial: Treatment, cut: () => void): Flow {
  const queue: Waiting[] = [];
  let treatment = initial;
  let timer: NodeJS.Timeout | undefined;
  let writing = false;
  /** What `to` had said when it was last written to. */
  let saidBefore = 0;
  let silent = false;

  const fallSilent = () => {
    silent = true;
    queue.length = 0;
  };

  const advance = () => {
    const head = queue[0];
    if (head === undefined || writing || timer !== undefined) return;
    const { bytes, since, chance } = head;
    const step = treatment({ size: bytes.length, waitedMs: performance.now() - since, chance }, direction);
    if (step === 'keep') return;
    if (step === 'swallow') return fallSilent();
    if (step.afterMs === 0) return forward(head, step);
    timer = setTimeout(() => {
      timer = undefined;
      forward(head, step);
    }, step.afterMs);
  };

  const forward = (head: Waiting, go: Go) => {
    const going = head.bytes.subarray(0, go.bytes);
    head.bytes = head.bytes.subarray(go.bytes);
    if (head.bytes.length === 0) queue.shift();
    if (head.act !== undefined) return head.act();
    writing = true;
    saidBefore = to.bytesRead;
    if (go.cut === true) to.end(going, cut);
    else to.write(going, written);
  };

  // A whole turn of the event loop between two writes, so that a peer in this process reads each one by itself. The
  // first immediate may still belong to the turn of the write.
  const written = () => {
    setImmediate(setImmediate, () => {
      writing = false;
      advance();
    });
  };

  const onceAnswered = (act: () => void) => {
    if (to.bytesRead > saidBefore || to.readableEnded) return act();
    to.once('data', act);
    to.once('end', act);
  };

  const enqueue = (what: Pick<Waiting, 'bytes' | 'act'>) => {
    if (silent) return;
    queue.push({ ...what, since: performance.now(), chance: Math.random() });
    advance();
  };

  to.once('close', () => {
    clearTimeout(timer);
    fallSilent();
  });

  return {
    push: (bytes) => enqueue({ bytes }),
    finish(act) {
      const held = treatment({ size: 0, waitedMs: 0, chance: 0 }, direction) === 'keep';
      enqueue({ bytes: Buffer.alloc(0), act: held ? () => onceAnswered(act) : act });
    },
    treat(next) {
      clearTimeout(timer);
      timer = undefined;
      treatment = next;
      advance();
    },
  };
}
