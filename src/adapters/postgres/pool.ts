/**
 * A few connections shared by all statements. A statement that finds none free waits in line, and its deadline runs
 * meanwhile: one that never got a connection was never sent.
 */

import { storeUnavailable } from '../../domain/errors.ts';
import type { CancelTimer, Clock } from '../../ports/clock.ts';
import type { Connection } from './connection.ts';

export class Pool {
  readonly #connections: readonly Connection[];
  readonly #free: Connection[];
  readonly #line: ((connection: Connection) => void)[] = [];
  readonly #clock: Clock;

  constructor(connections: readonly Connection[], clock: Clock) {
    this.#connections = connections;
    this.#free = [...connections];
    this.#clock = clock;
  }

  /** Gives `work` a connection and what is left of its time. Rejects with STORE_UNAVAILABLE when there is none in time. */
  async use<Result>(
    deadlineMs: number,
    work: (connection: Connection, leftMs: number) => Promise<Result>,
  ): Promise<Result> {
    const deadline = this.#clock.monotonic() + deadlineMs;
    const connection = this.#free.pop() ?? (await this.#nextFree(deadlineMs * LINE_SHARE));
    let answered = false;
    try {
      const result = await work(connection, Math.max(1, deadline - this.#clock.monotonic()));
      answered = true;
      return result;
    } catch (error) {
      // Not a word in all that time: connections that were made before and lie idle are no better.
      if (this.#clock.monotonic() >= deadline) for (const idle of this.#free) idle.drop();
      throw error;
    } finally {
      const next = this.#line.shift();
      if (next !== undefined) next(connection);
      // Taken first: a connection that works. Last: one that a server without a session to spare keeps refusing.
      else if (answered) this.#free.push(connection);
      else this.#free.unshift(connection);
    }
  }

  /** How many of them have a session of the server, or are about to. */
  get connected(): number {
    return this.#connections.filter(({ isConnected }) => isConnected).length;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  #nextFree(patienceMs: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      let cancelTimer: CancelTimer = () => {};
      const take = (connection: Connection) => {
        cancelTimer();
        resolve(connection);
      };
      cancelTimer = this.#clock.after(patienceMs, () => {
        this.#line.splice(this.#line.indexOf(take), 1);
        reject(storeUnavailable('Every connection to the database was busy.', 'Nothing was written; call again.'));
      });
      this.#line.push(take);
    });
  }
}

/** Of a statement's time, this much at most goes by in line: one that is sent with no time left costs its connection. */
const LINE_SHARE = 0.5;
