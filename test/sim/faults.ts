/** What can go wrong by itself, each under its name. Whether it is there, and how often, is for a plan to say. */

/** Faults that strike single calls, messages and processes; a rate is a share of those it can strike. */
export const faults = [
  // The database.
  'unavailable',
  'serialization',
  'lost-request',
  'lost-reply',
  'late-commit',
  'slow-store',
  'outage',
  'store-restart',
  'failover',
  // The wire of the wakes.
  'wake-lost',
  'wake-doubled',
  'wake-late',
  'wake-early',
  'wake-forged',
  // The processes.
  'crash',
  'crash-at-a-call',
  'freeze',
  'sleep',
  'clock-jump',
  'graceful-stop',
  // The providers.
  'request-lost',
  'reply-lost',
  'error-after-effect',
  'slow-reply',
  'late-arrival',
  'not-applied',
  'refused',
  'busy',
  'unusable-output',
  'executes-twice',
  'lookup-error',
  'lookup-silent',
  'lookup-inconclusive',
  'lookup-lag',
  // The callers and the persons.
  'submitted-again',
  'conflict',
  'cancel',
  'disconnect',
  'decision',
] as const;

/** What befalls our own house: its database, the wakes between its processes, and those. */
export const faultsOfTheHouse = faults.slice(0, faults.indexOf('request-lost'));

/** What companies that are reached by `http` do, and the way to them. */
export const faultsOfContracts = [
  'no-connection',
  'slow-connection',
  'rate-limited',
  'locked-out',
  'gateway-error',
  'refused-early',
  'too-late',
  'server-error',
  'accepted',
  'unreadable',
  'key-taken',
] as const;

/** What is at fault itself: processes whose definitions are broken, until they are repaired. */
export const faultsOfDefinitions = ['broken-definition'] as const;

export type Fault = (typeof faults)[number] | (typeof faultsOfContracts)[number] | (typeof faultsOfDefinitions)[number];

/** Nothing befalls the database, the processes or the network by itself. */
export const calm = Object.fromEntries(faults.map((fault) => [fault, 0]));
