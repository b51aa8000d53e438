/**
 * The kernel's only error: the machine's definition, not its surroundings, makes the turn impossible. The row that
 * was passed in is untouched, and repeating the turn fails in the same way, so the caller escalates the instance
 * instead of retrying. It is internal: nobody outside the orchestrator sees this class.
 */

/** Where a turn broke, and why. */
export interface FaultPlace {
  readonly machine: string;
  /** The state value the turn began in; null when the machine could not even begin. */
  readonly state: unknown;
  /** The actor whose result was being delivered, if it was one. */
  readonly actor?: string | null;
}

/** A turn that the definition of the machine makes impossible. `cause` is what the machine's own code threw, if it did. */
export class KernelFault extends Error {
  readonly code = 'DEFINITION_FAULT';
  readonly machine: string;
  readonly state: unknown;
  readonly actor: string | null;

  constructor(place: FaultPlace, why: string, cause?: unknown) {
    super(`Machine ${place.machine} ${where(place)}: ${why}`, cause === undefined ? undefined : { cause });
    this.name = 'KernelFault';
    this.machine = place.machine;
    this.state = place.state;
    this.actor = place.actor ?? null;
  }
}

function where({ state, actor }: FaultPlace): string {
  const from = state === null ? 'at its start' : `in state ${JSON.stringify(state)}`;
  return actor === undefined || actor === null ? from : `${from}, settling actor ${JSON.stringify(actor)}`;
}
