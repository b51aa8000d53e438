/**
 * The provider as a command. Its first line of output says where it listens, every further line is one line of its
 * log; it runs until it is told to stop and then exits with 0. It exits with 2 when it could not start, and says why.
 * It survives the loss of whoever reads its output.
 */

import { parseArgs } from 'node:util';
import { entryText } from './log.ts';
import type { LogEntry } from './log.ts';
import { startServer } from './server.ts';
import type { ServerOptions } from './server.ts';

const usage = `Scripted provider: an HTTP server that stands for another company and does what a test tells it.

  --port N             the port on 127.0.0.1 (default 0: a free one)
  --host HOST          only 127.0.0.1 is accepted
  --ledger FILE        append every record to FILE, and read it back at the start
  --key-header NAME    the header that carries the key (default idempotency-key)
  --json               one JSON object a line
  --until-stdin-ends   stop when standard input ends
  --help               this text

Told through POST /_test/faults, /_test/calls, /_test/lookups, /_test/release, /_test/quiet, /_test/reset;
asked through GET /_test/records, /_test/jobs, /_test/log, /_test/health.
`;

await run();

async function run(): Promise<void> {
  const flags = readFlags(process.argv.slice(2));
  if (typeof flags === 'string') return giveUp(flags);
  if (flags.help) {
    process.stdout.write(usage);
    return;
  }
  process.stdout.on('error', () => {
    // Nobody reads any more; the work goes on.
  });
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const print = (entry: LogEntry) => say(flags.json ? JSON.stringify(entry) : entryText(entry));
  try {
    const server = await startServer({ ...flags.options, print });
    say(flags.json ? JSON.stringify({ listening: server.url, pid: process.pid }) : `listening on ${server.url}`);
    const stop = () => void server.close().then(() => process.exit(0));
    process.once('SIGTERM', stop).once('SIGINT', stop);
    if (flags.untilStdinEnds) process.stdin.once('close', stop).resume();
  } catch (fault) {
    giveUp(fault instanceof Error ? fault.message : String(fault));
  }
}

interface Flags {
  readonly help: boolean;
  readonly json: boolean;
  readonly untilStdinEnds: boolean;
  readonly options: ServerOptions;
}

function readFlags(args: string[]): Flags | string {
  try {
    const { values } = parseArgs({
      args,
      options: {
        port: { type: 'string', default: '0' },
        host: { type: 'string' },
        ledger: { type: 'string' },
        'key-header': { type: 'string' },
        json: { type: 'boolean', default: false },
        'until-stdin-ends': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (!/^\d+$/.test(values.port)) return `--port takes a whole number, not "${values.port}".`;
    const options: ServerOptions = {
      port: Number(values.port),
      ...(values.host === undefined ? {} : { host: values.host }),
      ...(values.ledger === undefined ? {} : { ledger: values.ledger }),
      ...(values['key-header'] === undefined ? {} : { keyHeader: values['key-header'] }),
    };
    return { help: values.help, json: values.json, untilStdinEnds: values['until-stdin-ends'], options };
  } catch (fault) {
    return fault instanceof Error ? fault.message : String(fault);
  }
}

function giveUp(reason: string): void {
  process.stderr.write(`The provider cannot start. ${reason}\nSee --help.\n`);
  process.exitCode = 2;
}
