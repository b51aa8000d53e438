// What every command of ours takes: --json and --help.
import { parseArgs } from 'node:util';

/** The options, or undefined when the usage was printed instead: asked for, or because a flag is unknown (exit 2). */
export function readOptions(usage) {
  try {
    const { values } = parseArgs({ options: { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } });
    if (!values.help) return { json: values.json === true };
    console.log(usage);
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`);
    process.exitCode = 2;
  }
  return undefined;
}
