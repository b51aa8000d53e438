/**
 * One connection of our own to a server, carrying one statement at a time, each under a deadline. The `postgres` driver
 * has no deadline of its own and loses callers when a connection breaks inside a transaction of its making; so nothing
 * here opens a transaction, nothing is pipelined, and a connection that did not answer in time is ended, not waited
 * for. The host's clients are never touched.
 */

import postgres from 'postgres';
import { definitionInvalid } from '../../domain/errors.ts';
import type { Clock } from '../../ports/clock.ts';
import { type Client, clientFor, isOurSetting, type Route } from './client.ts';
import { inTime } from './deadline.ts';
import type { Rows } from './executor.ts';
import { type Effect, isRefusal, storeFault } from './faults.ts';

/** Why a statement has no answer. */
export interface Unanswered {
  readonly error: unknown;
  /** False when the server has certainly not seen it. */
  readonly sent: boolean;
  /** Host and port of the server. */
  readonly server: string;
}

export class Connection {
  readonly #route: Route;
  readonly #clock: Clock;
  readonly #server: string;
  #client: Client | null = null;
  #closed = false;
  #sockets = 0;

  constructor(route: Route, clock: Clock) {
    this.#route = route;
    this.#clock = clock;
    this.#server = serverOf(route.url);
  }

  /** Runs one statement of one text. Rejects with {@link Unanswered}, at the latest after `deadlineMs`. */
  async run(text: string, values: readonly unknown[], deadlineMs: number): Promise<Rows> {
    // The driver takes what its own types call serialisable; ours are texts and numbers.
    const parameters = values as (string | number)[];
    return await this.#answer((sql) => sql.unsafe<Row[]>(text, parameters, { prepare: true }), deadlineMs);
  }

  /** Runs several statements without parameters as one implicit transaction. */
  async batch(text: string, deadlineMs: number): Promise<void> {
    await this.#answer((sql) => sql.unsafe<Row[]>(text).simple(), deadlineMs);
  }

  /** Whether it has a session, or is about to. */
  get isConnected(): boolean {
    return this.#client !== null && !this.#client.isOver;
  }

  /** Ends its session, if there is one: the next statement begins another. */
  drop(): void {
    this.#client?.end(new Error('The session was given up.'));
  }

  /** Ends it, whatever it is doing, for good: who still waits for it is not carried out any more. */
  close(): void {
    this.#closed = true;
    this.#client?.end(closed());
  }

  async #answer(start: (sql: postgres.Sql) => postgres.PendingQuery<Row[]>, deadlineMs: number): Promise<Rows> {
    if (this.#closed) throw this.#unanswered(closed(), false);
    const client = this.#usable();
    const pending = start(client.sql);
    const answer = new Promise<Rows>((resolve, reject) => {
      client.begin(reject);
      pending.then(resolve, reject);
    });
    try {
      return await inTime(this.#clock, deadlineMs, answer, () => {
        const error = new Error(`No answer within ${deadlineMs} ms.`);
        // Neither this statement nor a later one waits for a peer that is gone.
        client.end(error);
        return error;
      });
    } catch (error) {
      const sent = wasSent(pending);
      // Not left to the driver, which gives what a dying session said last to the first statement of the next one.
      if (sent && !isRefusal(error)) client.end(error);
      throw this.#unanswered(error, sent);
    }
  }

  #usable(): Client {
    if (this.#client === null || this.#client.isOver) this.#client = clientFor(this.#route, () => this.#sockets++);
    return this.#client;
  }

  #unanswered(error: unknown, sent: boolean): Unanswered {
    return { error, sent, server: this.#server };
  }
}

type Row = Record<string, unknown>;

function closed(): Error {
  return new Error('The connection was closed by its owner.');
}

/** The driver gives a query the state of its connection when it writes it, not before. */
function wasSent(pending: object): boolean {
  return !('state' in pending) || pending.state !== null;
}

/** What became of a statement, as an error of the store: not sent, refused, or in doubt. */
export async function answered<Answer>(effect: Effect, work: Promise<Answer>): Promise<Answer> {
  try {
    return await work;
  } catch (error) {
    throw isUnanswered(error) ? storeFault(error.error, effect, error.sent ? null : error.server) : error;
  }
}

function isUnanswered(thrown: unknown): thrown is Unanswered {
  return typeof thrown === 'object' && thrown !== null && 'error' in thrown && 'sent' in thrown;
}

/**
 * Refuses a url that the driver cannot read, or would read as another than it says, without showing it: a url holds a
 * password. Connects to nothing.
 */
export function assertUrl(url: string): void {
  const refuse = (what: string, remedy: string): never => {
    throw definitionInvalid(what, remedy, { option: 'url' });
  };
  if (!isReadable(url)) {
    refuse('url is no url of a PostgreSQL server.', 'Write postgres://user:password@host:port/database.');
  }
  const named =
    /\?(.*)$/
      .exec(url)?.[1]
      ?.split('&')
      .map((setting) => setting.split('=')[0] ?? '') ?? [];
  const elsewhere = named.find((name) => partsOfUrl.includes(name));
  if (elsewhere !== undefined) {
    refuse(`url names ${elsewhere} behind the question mark, where it is not read.`, 'Write it before that.');
  }
  const ours = named.find((name) => isOurSetting(name));
  if (ours !== undefined) {
    refuse(`url sets ${ours}, which the store sets itself.`, 'Take it out, and choose deadlineMs.');
  }
}

/** What libpq also takes as parameters, and the driver does not. */
const partsOfUrl = ['host', 'hostaddr', 'port', 'dbname', 'user', 'password'];

function isReadable(url: unknown): boolean {
  // Anything else than a text would lead the driver to a server of its own choice, and so would a url without a host.
  if (typeof url !== 'string' || !/^postgres(ql)?:\/\/[^/?#]/.test(url)) return false;
  // A password that was not escaped would end as a host or a port, and those are told.
  if (/^[a-z]+:\/\/[^@/?#]*[/?#].*@/.test(url)) return false;
  try {
    postgres(url);
    return true;
  } catch {
    return false;
  }
}

/** Where the url leads, without user and password. */
function serverOf(url: string): string {
  const { host, port, path } = postgres(url).options;
  return path ? path : host.map((name, n) => `${name}:${port[n]}`).join(', ');
}
