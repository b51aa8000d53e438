/**
 * How a command that starts servers and processes of its own comes to its end: whatever happens, also when it is told to
 * end, everything that it started is gone. Exit 0 when all was right, 1 when something was wrong, 2 when it could not
 * run, and as shells have it when it was interrupted; then nothing more is said.
 */

import { setTimeout as pause } from 'node:timers/promises';

/** Registers what must be undone at the end, whatever happens meanwhile. */
export type AtTheEnd = (undo: () => Promise<unknown>) => void;

const UNDO_WITHIN_MS = 35_000;

/** What has to be undone at the end, the latest first. */
const undo: (() => Promise<unknown>)[] = [];

/** The exit code, once somebody has asked for the end. */
let interruptedBy: number | null = null;

/** Runs what answers whether all was right, and ends the process. `what` names it, as in "The torture". */
export async function toTheEnd(what: string, run: (atTheEnd: AtTheEnd) => Promise<boolean>): Promise<never> {
  let code = 2;
  try {
    code = (await Promise.race([run((step) => undo.push(step)), interruption()])) ? 0 : 1;
  } catch (error) {
    say(`${what} could not run: ${error instanceof Error ? error.message : String(error)}`);
  }
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) await undone(step);
  // What was interrupted may still wait for something that is gone now; and left to end by itself, Node 20 was seen to
  // turn round for ever while it freed what it had open.
  process.exit(interruptedBy ?? code);
}

/** On standard error. */
export function say(what: string): void {
  if (interruptedBy === null) process.stderr.write(`${what}\n`);
}

/** Resolves when the command is told to end. Told a second time it ends on the spot. */
function interruption(): Promise<false> {
  return new Promise((resolve) => {
    for (const [signal, code] of [['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
      process.once(signal, () => {
        interruptedBy = code;
        resolve(false);
      });
    }
  });
}

/** The end must come, also when a step of it does not. */
async function undone(step: () => Promise<unknown>): Promise<void> {
  const late = pause(UNDO_WITHIN_MS, undefined, { ref: false }).then(() => {
    throw new Error(`a step took longer than ${UNDO_WITHIN_MS} ms`);
  });
  await Promise.race([step(), late]).catch((error: unknown) => say(`Could not clean up: ${String(error)}`));
}

/** Also what is still starting when the end comes is waited for, and ended. */
export async function undoneAtTheEnd<Thing>(
  atTheEnd: AtTheEnd,
  starting: Promise<Thing>,
  undoing: (thing: Thing) => Promise<unknown>,
): Promise<Thing> {
  atTheEnd(async () => {
    const thing = await starting.catch(() => null);
    if (thing !== null) await undoing(thing);
  });
  return await starting;
}
