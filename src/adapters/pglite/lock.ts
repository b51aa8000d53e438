/**
 * One process at a time in a directory: PGlite itself locks nothing, and two that open one directory lose committed
 * rows. The lock is the file `<directory>.lock`, naming its holder so exactly (pid, start of the process, boot of the
 * machine) that a dead holder is recognised even when its pid is in use again. The file that came into being
 * complete and exclusively is the authority; whoever finds it held fails at once and is told by whom. A holder on
 * another machine or in another container cannot be seen from here, so its lock holds until a person deletes it.
 */

import { link, mkdir, readFile, readlink, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { storeUnavailable } from '../../domain/errors.ts';
import { systemRandom } from '../local/random.ts';

export interface DirectoryLock {
  /** The directory as the file system knows it, whatever links led to it. */
  readonly directory: string;
  /** Gives the directory free. Does nothing when the lock is no longer ours. */
  release(): Promise<void>;
}

/** Creates the directory when it is missing and locks it, or rejects with STORE_UNAVAILABLE naming the holder. */
export async function lockDirectory(path: string): Promise<DirectoryLock> {
  await mkdir(path, { recursive: true });
  const directory = await realpath(path);
  if (held.has(directory)) throw occupied(directory, process.pid);
  held.add(directory);
  try {
    const me = await identify();
    await acquire(`${directory}.lock`, me, directory);
    return {
      directory,
      async release() {
        try {
          await removeOwn(`${directory}.lock`, me);
        } finally {
          held.delete(directory);
        }
      },
    };
  } catch (error) {
    held.delete(directory);
    throw error;
  }
}

/** Who holds a lock. What the system does not tell is null. */
interface Holder {
  readonly pid: number;
  readonly startedAt: string | null;
  readonly bootId: string | null;
  /** Null in a lock of a version that did not write it. */
  readonly place: Place | null;
  readonly nonce: string;
}

/** Within one place a pid means one process. */
interface Place {
  readonly host: string;
  /** Containers of one machine count their processes apart. Null where the system has no such thing. */
  readonly pidNamespace: string | null;
}

/** The directories that this process has open, shared by all copies of this module, and known before any file is. */
const held = heldHere();

function heldHere(): Set<string> {
  const name = Symbol.for('sagacity.pglite.held');
  // The symbol is ours, so whatever is there was put there by a copy of this function.
  const registry = globalThis as { [name]?: Set<string> };
  registry[name] ??= new Set();
  return registry[name];
}

async function acquire(file: string, me: Holder, directory: string): Promise<void> {
  const draft = `${file}.${me.nonce}`;
  const { place, ...others } = me;
  await writeFile(draft, JSON.stringify({ ...others, ...place }));
  try {
    for (;;) {
      if (await placed(draft, file)) return;
      const found = await readHolder(file);
      if (found === 'absent') continue;
      if (found !== 'unreadable') {
        if (isElsewhere(found, me)) throw outOfSight(directory, file, found.pid, found.place.host);
        if (await isAlive(found)) throw occupied(directory, found.pid);
      }
      if (await inherit(file, found, draft, me, directory)) return;
    }
  } finally {
    await rm(draft, { force: true });
  }
}

/** A hard link appears whole or not at all, and only where nothing is. */
async function placed(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Replaces a stale lock. Renaming alone would let two heirs follow each other, each reading back its own nonce; so
 * being the heir is itself a lock, under which the stale holder is looked at once more.
 */
async function inherit(file: string, stale: Found, draft: string, me: Holder, directory: string): Promise<boolean> {
  const heirs = `${file}.heir`;
  await acquire(heirs, me, directory);
  try {
    if (nonceOf(await readHolder(file)) !== nonceOf(stale)) return false;
    await rename(draft, file);
    return nonceOf(await readHolder(file)) === me.nonce;
  } finally {
    await removeOwn(heirs, me);
  }
}

async function removeOwn(file: string, me: Holder): Promise<void> {
  if (nonceOf(await readHolder(file)) === me.nonce) await rm(file, { force: true });
}

type Found = Holder | 'absent' | 'unreadable';

function nonceOf(found: Found): string {
  return typeof found === 'string' ? found : found.nonce;
}

async function readHolder(file: string): Promise<Found> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  return text === null ? 'absent' : parseHolder(text);
}

/** A lock is written whole, so one that cannot be read was damaged by a crash of the machine and holds nothing. */
function parseHolder(text: string): Found {
  try {
    const { pid, startedAt, bootId, host, pidNamespace, nonce }: Record<string, unknown> = JSON.parse(text);
    if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0 || typeof nonce !== 'string') return 'unreadable';
    const place = typeof host === 'string' ? { host, pidNamespace: textOrNull(pidNamespace) } : null;
    return { pid, nonce, startedAt: textOrNull(startedAt), bootId: textOrNull(bootId), place };
  } catch {
    return 'unreadable';
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

async function identify(): Promise<Holder> {
  const [self, bootId, pidNamespace] = await Promise.all([readProcess(process.pid), readBootId(), readPidNamespace()]);
  const place = { host: hostname(), pidNamespace };
  return { pid: process.pid, startedAt: self?.startedAt ?? null, bootId, place, nonce: systemRandom().id() };
}

/** Its pid means nothing here, or another process: nothing can be said about whether it lives. */
function isElsewhere(holder: Holder, me: Holder): holder is Holder & { readonly place: Place } {
  if (holder.place === null || me.place === null) return false;
  return holder.place.host !== me.place.host || holder.place.pidNamespace !== me.place.pidNamespace;
}

async function isAlive(holder: Holder): Promise<boolean> {
  const bootId = await readBootId();
  if (bootId !== null && holder.bootId !== null && bootId !== holder.bootId) return false;
  if (!exists(holder.pid)) return false;
  const running = await readProcess(holder.pid);
  if (running !== null && holder.startedAt !== null) {
    return running.startedAt === holder.startedAt && !running.isZombie;
  }
  // Where the system does not tell when a process began, our own pid in a file that is not ours was used before us.
  return holder.pid !== process.pid;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** What Linux tells about a process; null elsewhere, or when it has gone. */
async function readProcess(pid: number): Promise<{ startedAt: string; isZombie: boolean } | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  // The second field is the command in parentheses and may hold anything; the state is the third, the start the 22nd.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, startedAt] = [fields[0], fields[19]];
  return startedAt === undefined ? null : { startedAt, isZombie: state === 'Z' || state === 'X' };
}

async function readBootId(): Promise<string | null> {
  const text = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => null);
  return text === null ? null : text.trim();
}

async function readPidNamespace(): Promise<string | null> {
  return await readlink('/proc/self/ns/pid').catch(() => null);
}

function outOfSight(directory: string, file: string, pid: number, host: string): Error {
  return storeUnavailable(
    `The PGlite directory ${directory} is locked by process ${pid} on host ${JSON.stringify(host)}, another machine ` +
      'or container than this one, so that nobody can tell from here whether it still runs.',
    `Stop it, or use another directory. When it is surely gone, delete ${file} and try again.`,
  );
}

function occupied(directory: string, pid: number): Error {
  const who = pid === process.pid ? `this process (${pid})` : `process ${pid}`;
  return storeUnavailable(
    `The PGlite directory ${directory} is already open in ${who}.`,
    'Stop that one first or use another directory: one directory serves one store at a time.',
  );
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
