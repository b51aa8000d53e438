/**
 * What a command says. Standard output holds the answer alone, so that a pipe or a file can take it; whatever else is
 * worth telling goes to standard error. An answer that could not be written is no success.
 */

/** Writes one line of the answer. */
export function answer(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Tells whoever watches. */
export function note(text: string): void {
  process.stderr.write(`sagacity: ${text}\n`);
}

/** From here on, an answer that is lost on its way (a full disk, a reader that left) makes the exit code 2. */
export function failWhenAnswersAreLost(): void {
  process.stdout.on('error', ({ message }) => {
    note(`Standard output could not be written: ${message}.`);
    process.exitCode = 2;
  });
}
