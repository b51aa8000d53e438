/**
 * Loses single statements on their way to or from PostgreSQL, and the connection with them: what a client sees is the
 * same error whether its statement was carried out or never arrived. A lost request is lost wholly. A lost reply is lost
 * when the server has said that it is ready again, so the statement is committed, unless a transaction is open. Rules
 * work while the proxy passes. When a client asks for encryption and the server agrees, nothing can be read any more:
 * that connection is passed on unseen, and rules strike nothing in it.
 */

import type { FaultProxy } from './fault-proxy.ts';
import { type Ruling, session } from './postgres-session.ts';

export interface PostgresRule {
  /** Which statements: those whose SQL text matches. All, unless said. */
  readonly matching?: RegExp;
  /**
   * `request`: the server never gets it. `reply`: the server carries it out and the client never hears, not even of an
   * error. Either way both peers then see the connection closed.
   */
  readonly lose: 'request' | 'reply';
  /**
   * Strikes at this match, counted from 1, over all connections, and never again; if another rule strikes that
   * statement, at the next match. The first, unless said.
   */
  readonly nth?: number;
}

export interface PostgresFault {
  /** Resolves when the loss has happened: of a reply, when the server has carried out the statement. */
  readonly struck: Promise<void>;
  /** How many statements matched so far, lost ones and later ones included. */
  readonly count: number;
  /** Counts and strikes no more. */
  remove(): void;
}

export interface PostgresFaults {
  /** Statements are counted from now on, in connections opened since `postgresFaults` was called. */
  add(rule: PostgresRule): PostgresFault;
  /** Removes all rules. */
  clear(): void;
  /** Calls `listener` with the SQL text of every statement as it arrives, before any rule; returns how to end that. */
  onStatement(listener: (text: string) => void): () => void;
}

interface PlantedRule extends PostgresRule, Ruling {
  count: number;
  spent: boolean;
}

/**
 * Makes the proxy understand PostgreSQL in all connections opened from now on. Call it before the client connects.
 *
 * A statement is what one simple query carries (several in one text are one statement), or one execution of a bound
 * prepared statement, wherever its text was sent. Statements that a client sends together up to one Sync share their
 * fate. COPY works as a simple query only.
 *
 * @example
 * const proxy = await faultProxy({ port: 5432 });
 * const postgres = postgresFaults(proxy);
 * const fault = postgres.add({ matching: /^commit/i, lose: 'reply', nth: 3 });
 * await fault.struck;
 */
export function postgresFaults(proxy: FaultProxy): PostgresFaults {
  const rules = new Set<PlantedRule>();
  const listeners = new Set<(text: string) => void>();

  /** The rule that strikes one of these statements; all rules count all of them. */
  const judge = (texts: readonly string[]): PlantedRule | null => {
    let striking: PlantedRule | null = null;
    for (const text of texts) {
      for (const listener of listeners) listener(text);
      for (const rule of rules) {
        // Unlike `test`, `search` does not begin where a global expression matched last.
        if (rule.matching !== undefined && text.search(rule.matching) === -1) continue;
        rule.count += 1;
        if (striking !== null || rule.spent || rule.count < (rule.nth ?? 1)) continue;
        rule.spent = true;
        striking = rule;
      }
    }
    return striking;
  };
  proxy.filter(() => session(judge));

  return {
    add(rule) {
      const { nth = 1 } = rule;
      if (!Number.isInteger(nth) || nth < 1) throw new RangeError(`nth is a whole number from 1, not ${nth}.`);
      let strike = () => {};
      const struck = new Promise<void>((resolve) => {
        strike = resolve;
      });
      const planted: PlantedRule = { ...rule, count: 0, spent: false, strike };
      rules.add(planted);
      return {
        struck,
        get count() {
          return planted.count;
        },
        remove: () => void rules.delete(planted),
      };
    },
    clear: () => rules.clear(),
    onStatement(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
