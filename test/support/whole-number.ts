/** A whole number as the commands here take it. */

/** Throws what is wrong with the text that this option was given. */
export function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 1 && value < 2 ** 32) return value;
  throw new Error(`${option} is "${text}", and must be a whole number from 1 on.`);
}
