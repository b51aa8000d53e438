/**
 * An endpoint of a provider in the hands of the contract suite: how a request is made there, and what can be brought about.
 * Nothing of it is about the library; a sandbox needs to be reached and nothing more.
 */

/** One endpoint, in a sandbox: what is made there is real enough to be counted, and costs nobody anything. */
export interface ContractEndpoint {
  /** Sends one request and resolves with the reply, whatever it is. Rejects when there was none. */
  readonly send: (request: EndpointRequest) => Promise<EndpointReply>;
  /** The id of the record that a success speaks of, or a reply that says that it was done before; null: it names none. */
  readonly idIn: (reply: EndpointReply) => string | null;
  /** Looks up by the key, as it is, or by the reference, and resolves with the ids of the records that are shown. */
  readonly lookUp?: (asked: { readonly key: string | null; readonly reference: string }) => Promise<readonly string[]>;
  /** How many records there really are under a reference, by another way than the look-up, if the sandbox can tell. */
  readonly count?: (reference: string) => Promise<number>;
  /** While `work` runs, the provider refuses what `send` asks for: the account is empty. */
  readonly refusing?: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** While `work` runs, the provider ends what `send` asks for with an error of its own (5xx). */
  readonly failing?: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** While `work` runs, the provider does not finish what `send` asks for. */
  readonly holding?: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** Lets so much of the provider's time pass. Default: waits. */
  readonly passes?: (ms: number) => Promise<void>;
  /** The provider's time. Default: that of this process. */
  readonly now?: () => number;
  /** How much time may pass for one test, in milliseconds. Default 60,000; what takes longer is not tried. */
  readonly patienceMs?: number;
}

export interface EndpointRequest {
  /** Written as the contract says, for a key in the body or the query; null: the provider takes none. */
  readonly key: string | null;
  /** The headers that the contract asks for: the key, if it goes there, and the time of the first request. */
  readonly headers: Readonly<Record<string, string>>;
  /** To be put into the record, so that it can be counted and found by it. */
  readonly reference: string;
  /** `other` asks for something else under the same reference, such as another amount. */
  readonly variant: 'first' | 'other';
}

export interface EndpointReply {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON where it was some. */
  readonly body: unknown;
}
