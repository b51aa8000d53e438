/**
 * What a process knows of each provider beside its limits: where it is, what opens its door, and by which connections it
 * is reached. None of it belongs to an operation: credentials change while an operation is under way, and its key does not.
 */

export interface ProviderAccess {
  /** Where its paths begin: `https://api.card-company.example/v1`. Requests to elsewhere are refused then. */
  readonly url?: string;
  /**
   * The headers that open its door, asked for each request anew, so that they may be short-lived. They are in no key,
   * fingerprint, history or log. What throws has sent nothing. They need a `url`, and go nowhere else.
   *
   * @example
   * credentials: async ({ tenant }) => ({ authorization: `Bearer ${await tokens.of(tenant)}` }),
   */
  readonly credentials?: (who: {
    readonly tenant: string;
  }) => Readonly<Record<string, string>> | PromiseLike<Readonly<Record<string, string>>>;
  /**
   * A plain `Agent`, `Pool`, `Client` or `ProxyAgent` of undici 7, for a proxy, certificates or a socket of your own. One
   * that repeats, follows, pipelines or speaks HTTP/2 is refused. Default: the library's own.
   */
  readonly dispatcher?: object;
}
