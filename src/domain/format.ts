/**
 * In which form the snapshot and the output of an operation or a saga are stored. Each row tells its own by a number, and
 * a store gives to a worker only what this version reads.
 *
 * The rule of the project: a release reads a format one release before any release writes it. So neighbouring releases
 * can work on one database side by side, as they do while one is rolled out, and a release can be taken back: whatever
 * either of them wrote, both can go on with. Nothing is negotiated at run time. Who wants a third format lets one release
 * read 1, 2 and 3 and write 2, and the next one write 3; a format is read no more once no row has it.
 *
 *  1. A chart's row, or a saga's course, as it is.
 *  2. The same without what is empty or as it was in the beginning.
 *
 * An output is in both what the codec made of it. A turn may leave one as it stands, whatever format it writes.
 */

/** The format of what this version writes. */
export const FORMAT_WRITTEN = 2;

/** The formats that this version reads. What is in another one is left to who does. */
export const FORMATS_READ: readonly number[] = [1, 2];

export function isReadable({ format }: { readonly format: number }): boolean {
  return FORMATS_READ.includes(format);
}
