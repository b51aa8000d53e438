/**
 * Figures that a specification has measured, for who wants to compare them between versions. With SAGACITY_FIGURES
 * set they are appended to that file, a JSON object a line; without it nothing happens.
 */

import { appendFileSync } from 'node:fs';

/** Notes one figure by a name in words; `limit` is what it must not exceed. */
export function figure(name: string, value: number, limit: number): void {
  const file = process.env['SAGACITY_FIGURES'];
  if (file === undefined || file === '') return;
  appendFileSync(file, `${JSON.stringify({ name, value, limit, ok: value <= limit })}\n`);
}
