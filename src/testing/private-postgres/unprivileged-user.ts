/** The user that the server runs as when the tests run as root, which PostgreSQL refuses. */

import { readFile } from 'node:fs/promises';

export interface User {
  readonly uid: number;
  readonly gid: number;
}

/** `null` when this process is not root: then the server runs as the user of the tests. */
export async function unprivilegedUser(): Promise<User | null> {
  if (process.getuid?.() !== 0) return null;
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  for (const wanted of ['postgres', 'nobody']) {
    const entry = users.find(([name]) => name === wanted);
    if (entry !== undefined) return { uid: Number(entry[2]), gid: Number(entry[3]) };
  }
  throw new Error(
    'PostgreSQL does not run as root, and this machine has neither a user postgres nor a user nobody to run it as. ' +
      'Run the tests as another user, or create the user postgres.',
  );
}
