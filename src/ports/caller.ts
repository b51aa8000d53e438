/**
 * The one way out to a provider, as a port: every executor and every look-up is called through it. It is there for tests,
 * which lose a request or a reply, or let a process die around it.
 */

/** An attempt that leaves (`request`), or the question what became of one. */
export interface Call {
  readonly kind: 'request' | 'question';
  readonly tenant: string;
  readonly operationId: string;
  readonly action: string;
}

/** Calls what is to be called, or does not. What it returns or throws stands for what that returned or threw. */
export type Caller = (call: Call, go: () => unknown) => unknown;

/** Nobody is in between. */
export const directCaller: Caller = (_call, go) => go();
