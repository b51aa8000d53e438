/**
 * What this process hands to the kernel for NATS, seen as it is written to the sockets, and what JetStream says to it: a
 * letter that is on its way, or a timer that is kept, cannot be told from inside the library.
 */

import { Socket } from 'node:net';

/** What goes over NATS, by the ends of its subjects. */
const letters = ['timers', 'said', 'due', 'freed'] as const;

export type Letter = (typeof letters)[number];

export interface LetterWatch {
  /** These have left in these bytes. */
  lettersLeft(left: readonly Letter[], bytes: Buffer): void;
  /** It has come that a timer is kept, and nobody has read it. */
  timerKept(): void;
}

type Written = (error?: Error | null) => void;

/** Watches every socket to this port, from now on and for good. */
export function watchLetters(port: number, watch: LetterWatch): void {
  // Called on the sockets that they are taken from.
  const write = Reflect.get(Socket.prototype, 'write') as (this: Socket, ...given: unknown[]) => boolean;
  const push = Reflect.get(Socket.prototype, 'push') as (this: Socket, ...given: unknown[]) => boolean;

  Socket.prototype.write = function watched(this: Socket, ...given: unknown[]): boolean {
    const [chunk] = given;
    const bytes = this.remotePort === port && chunk instanceof Uint8Array ? Buffer.from(chunk) : null;
    const left = bytes === null ? [] : lettersIn(bytes);
    if (bytes === null || left.length === 0) return write.apply(this, given);
    const written = given.find((one): one is Written => typeof one === 'function');
    return write.call(this, bytes, (error?: Error | null) => {
      written?.(error);
      if (error === undefined || error === null) watch.lettersLeft(left, bytes);
    });
  };
  Socket.prototype.push = function watched(this: Socket, ...given: unknown[]): boolean {
    const [chunk] = given;
    if (this.remotePort === port && Buffer.isBuffer(chunk) && isTimerKept(chunk)) watch.timerKept();
    return push.apply(this, given);
  };
}

function lettersIn(bytes: Buffer): readonly Letter[] {
  const published = bytes.toString('latin1').matchAll(/^H?PUB sagacity\.\w+\.(\w+) /gm);
  return [...published].flatMap(([, end]) => letters.filter((letter) => letter === end));
}

/** JetStream says under which number it keeps a message. */
function isTimerKept(bytes: Buffer): boolean {
  return /^\{"stream":"SAGACITY_\w+", ?"seq":\d+/m.test(bytes.toString('latin1'));
}
