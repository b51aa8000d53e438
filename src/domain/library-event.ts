/** The events that nobody outside the library may give to a chart: how actors end, what is due, what has been decided. */

const libraryEvents = ['cancel.requested', 'saga.cancelled', 'saga.timedOut', 'verdict.given'];

/** Only the library, or XState itself, gives such an event to a chart. */
export function isLibraryEvent(type: string): boolean {
  return type.startsWith('xstate.') || libraryEvents.includes(type);
}

/** Whether some event of the library's has a name that begins so. */
export function isLibraryPrefix(prefix: string): boolean {
  return libraryEvents.some((name) => name.startsWith(prefix));
}
