/**
 * The provider's door: an HTTP server on 127.0.0.1 and nowhere else. It stands for a company that can be told to
 * lie, so it must never be reachable from another machine.
 */

import { realClock } from './clock.ts';
import type { ProviderClock } from './clock.ts';
import { openLedger } from './ledger.ts';
import { openLog } from './log.ts';
import type { LogEntry } from './log.ts';
import { listenOnLoopback, loopback, type RunningServer } from './loopback.ts';
import { confess, openProvider } from './provider.ts';

export interface ServerOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** Only 127.0.0.1 is accepted. */
  readonly host?: string;
  /** A file of one record a line: written before each reply, read back at the start. */
  readonly ledger?: string;
  /** The header that carries the key; `idempotency-key` unless said otherwise. */
  readonly keyHeader?: string;
  readonly clock?: ProviderClock;
  /** Told every line of the log as it is written. */
  readonly print?: (entry: LogEntry) => void;
}

/** Resolves when the server listens; rejects when it cannot, in words that say what to change. */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const { port = 0, host = loopback, keyHeader = 'idempotency-key', clock = realClock, print = () => {} } = options;
  if (host !== loopback) {
    throw new Error(
      `The scripted provider listens on ${loopback} only, not on "${host}": it is made to lie, and must not be reachable.`,
    );
  }
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`A port is a whole number from 0 to 65535, not ${port}.`);
  if (!/^[\w-]+$/.test(keyHeader)) throw new Error(`"${keyHeader}" is not the name of a header.`);

  const ledger = openLedger(options.ledger, () => clock.now());
  const serve = openProvider({ ledger, log: openLog(print), clock, keyHeader: keyHeader.toLowerCase() });
  return listenOnLoopback((request, response) => {
    serve(request, response).catch((fault: unknown) => confess(response, fault));
  }, port);
}
