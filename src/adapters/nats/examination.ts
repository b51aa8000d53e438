/** What a checkup finds out about NATS. All of it costs promptness only: the sweep finds what no wake announces. */

import type { NatsConnection } from 'nats';
import { type CheckupFinding, sound, warning } from '../../domain/checkup.ts';
import type { Source } from './link.ts';

/** A server that has not answered by then does not. */
const ANSWERS_WITHIN_MS = 3_000;

const OLDEST = { major: 2, minor: 9 };

export async function examineNats(source: Source): Promise<readonly CheckupFinding[]> {
  if ('connection' in source) return [await ofConnection(source.connection)];
  const { connect } = await import('nats');
  let connection: NatsConnection;
  try {
    connection = await connect({ name: 'sagacity', ...source, reconnect: false, timeout: ANSWERS_WITHIN_MS });
  } catch (error) {
    return [unreachable(codeOf(error))];
  }
  try {
    return [await ofConnection(connection)];
  } finally {
    await connection.close();
  }
}

async function ofConnection(connection: NatsConnection): Promise<CheckupFinding> {
  if (connection.isClosed()) return unreachable('CONNECTION_CLOSED');
  const version = connection.info?.version ?? '0.0.0';
  if (isOlder(version)) {
    return warning('nats', `The NATS server is version ${version}.`, 'Sagacity needs 2.9 or newer for its timers.');
  }
  try {
    const manager = await connection.jetstreamManager({ timeout: ANSWERS_WITHIN_MS });
    await manager.getAccountInfo();
  } catch (error) {
    return warning(
      'nats',
      `NATS answers, but JetStream keeps no timers (${codeOf(error)}).`,
      'Start the servers with JetStream (-js), and allow it to the account of this user: until then the sweep finds what is due.',
    );
  }
  return sound('nats', `NATS ${version} answers, and JetStream keeps timers.`);
}

function unreachable(code: string): CheckupFinding {
  const isRefused = code === 'AUTHORIZATION_VIOLATION' || code === 'AUTHENTICATION_EXPIRED';
  return isRefused
    ? warning(
        'nats',
        `NATS refuses the credentials (${code}).`,
        'Correct them: until then the sweep finds what is due.',
      )
    : warning(
        'nats',
        `NATS cannot be reached (${code}).`,
        'Check the addresses in natsWaker({ servers }): until then the sweep finds what is due.',
      );
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor);
}

/** Messages of the client may name what was given to it; its codes do not. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no answer';
}
