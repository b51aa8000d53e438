/** The signals by which an operating system asks a process to end. They are the process's own; nothing else is. */

/** SIGTERM is what a container or a service manager sends, SIGINT a terminal, SIGHUP a terminal that closes. */
export type StopSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP' | 'SIGQUIT';

export const stopSignals: readonly StopSignal[] = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'];

/**
 * Calls `fn` at the first of each of these signals; a second one of the same kind is Node's to answer, which ends the
 * process at once. Returns what takes the listeners away.
 */
export function onSignals(signals: readonly StopSignal[], fn: (signal: StopSignal) => void): () => void {
  const listeners = signals.map((signal) => [signal, () => fn(signal)] as const);
  for (const [signal, listener] of listeners) process.once(signal, listener);
  return () => {
    for (const [signal, listener] of listeners) process.removeListener(signal, listener);
  };
}
