/**
 * What the library logs that no outage explains. Errors of its own are told of the surroundings, as those of the NATS
 * client are; any other, such as a statement that was refused, is a fault.
 */

import { isSagacityError, type Logger } from 'sagacity';

/** Told when a server of NATS goes away and takes along what it had handed out: the wakes are lost, and nothing else. */
const OF_SURROUNDINGS: ReadonlySet<string> = new Set(['JetStream keeps no timers; the sweep finds what is due']);

/** Tells of each fault, and shows on standard error what was logged as an error. */
export function loggerOfFaults(tell: (what: string) => void): Logger {
  const listen = (facts: object, message: string) => {
    const error: unknown = 'error' in facts ? facts.error : null;
    if (OF_SURROUNDINGS.has(message)) return;
    if (error instanceof Error && !isSagacityError(error) && error.name !== 'NatsError')
      tell(`${message}: ${error.message}`);
  };
  return {
    ...{ debug: listen, info: listen, warn: listen },
    error(facts, message) {
      listen(facts, message);
      console.error(message, facts);
    },
  };
}
