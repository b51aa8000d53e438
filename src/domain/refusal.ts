/**
 * The words in which a value that cannot be stored is refused: where, what it is, what to write instead. They name
 * paths, types and classes, never values, because the message may reach a log.
 */

import { inputInvalid, type SagacityError } from './errors.ts';
import type { Observed } from './observe.ts';
import { type Step, writePath } from './path.ts';

/** What stands at the place, and what to write there. */
export interface Flaw {
  readonly what: string;
  readonly remedy: string;
}

/** A value nested deeper than this is refused: its walk would otherwise end in an exhausted call stack. */
export const DEPTH_MAX = 100;

/** A value with more members, elements and entries than this is refused, shared ones counted each time they occur. */
export const PARTS_MAX = 100_000;

/** INPUT_INVALID for the place that `steps` lead to in the value called `rootName`; its path is among the facts. */
export function refusal(rootName: string, steps: readonly Step[], flaw: Flaw): SagacityError {
  const path = writePath(rootName, steps);
  const subject = rootName.charAt(0).toUpperCase() + rootName.slice(1);
  return inputInvalid(`${subject} cannot be stored: ${path} ${flaw.what}. ${flaw.remedy}`, { path });
}

/** The flaws that every walker refuses, whatever else it carries. */
export const flaws = {
  symbolMembers: { what: 'has a member named by a symbol', remedy: 'Name it by a string.' },
  otherMembers: { what: 'is an array with members besides its elements', remedy: 'Write an object that holds both.' },
  throwingGetter: { what: 'is a getter that throws', remedy: 'Write the value itself, or leave it out.' },
  cycle: { what: 'refers back to a value that contains it', remedy: 'Write an id instead of the reference.' },
  depth: { what: `is nested deeper than ${DEPTH_MAX} levels`, remedy: 'Write it flatter, or refer to it by an id.' },
} as const satisfies Record<string, Flaw>;

/** What is wrong with a thing that the asking walker does not carry. */
export function flawOf(seen: Unsupported): Flaw {
  switch (seen.type) {
    case 'undefined':
      return { what: 'is undefined', remedy: 'Write null, or leave it out.' };
    case 'hole':
      return { what: 'is an empty slot of an array', remedy: 'Write null instead.' };
    case 'accessor':
      return { what: 'is a getter', remedy: 'Write the value it returns.' };
    case 'function':
      return { what: 'is a function', remedy: 'Leave it out, or write what it returns.' };
    case 'symbol':
      return { what: 'is a symbol', remedy: 'Write a string instead.' };
    case 'error':
      return instanceOf('Error');
    case 'unstorable':
      return instanceOf('Unstorable');
    case 'instance':
      return instanceOf(seen.className);
    case 'too-large':
      return {
        what: `brings the whole to more than ${PARTS_MAX} members and elements`,
        remedy: 'Store it elsewhere and refer to it by an id.',
      };
  }
}

type Unsupported = Extract<
  Observed,
  {
    type: 'undefined' | 'hole' | 'accessor' | 'function' | 'symbol' | 'error' | 'unstorable' | 'instance' | 'too-large';
  }
>;

function instanceOf(className: string): Flaw {
  return { what: `is an instance of ${className}`, remedy: 'Write its fields as a plain object instead.' };
}
