/** Chance, as a port: jitter and the ids of workers, turns and hand-overs come from here and from nowhere else. */
export interface Random {
  /** A number in [0, 1). */
  number(): number;
  /** A fresh id of at least 122 random bits. Never used for an idempotency key. */
  id(): string;
}
