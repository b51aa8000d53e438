/**
 * What the library logs that no outage explains. Errors of its own are told of the surroundings, as those of the NATS
 * client are; any other, such as a statement that was refused, is a fault.
 */

import { isSagacityError, type Logger } from 'sagacity';

/** What is logged when a server of NATS goes away and takes along what it had handed out. */
const SERVER_LOST = 'The server hands out no timers any more.';

/** Tells of each fault, and shows on standard error what was logged as an error. */
export function loggerOfFaults(tell: (what: string) => void): Logger {
  const listen = (facts: object, message: string) => {
    const error: unknown = 'error' in facts ? facts.error : null;
    if (error instanceof Error && !isOfSurroundings(error)) tell(`${message}: ${error.message}`);
  };
  return {
    ...{ debug: listen, info: listen, warn: listen },
    error(facts, message) {
      listen(facts, message);
      console.error(message, facts);
    },
  };
}

function isOfSurroundings(error: Error): boolean {
  return isSagacityError(error) || error.name === 'NatsError' || error.message === SERVER_LOST;
}
