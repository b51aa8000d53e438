/**
 * How a place inside a value is written in messages and markers: `input.lines[2].price`, `input["unit price"]`. A walk
 * keeps its steps only and has them written when something is wrong, because hardly any walk meets anything wrong.
 */

import { cutText } from './text.ts';

/** A step into a member (its name) or into an element (its index). */
export type Step = string | number;

const identifier = /^[A-Za-z_$][\w$]*$/;
const nameLengthMax = 100;

/** The path that `steps` make from `root`; from the root `''` it is relative and begins without a dot. */
export function writePath(root: string, steps: readonly Step[]): string {
  return steps.reduce<string>(writeStep, root);
}

function writeStep(path: string, step: Step): string {
  if (typeof step === 'number') return `${path}[${step}]`;
  // Long names are cut, so that a path stays readable whatever the names are.
  const shown = cutText(step, nameLengthMax);
  // JSON escapes NUL and lone surrogates, so that a path can be printed and stored wherever text can.
  if (!identifier.test(shown)) return `${path}[${JSON.stringify(shown)}]`;
  return path === '' ? shown : `${path}.${shown}`;
}
