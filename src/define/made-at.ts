/**
 * Where definitions were made: the place in the host's code at which `operation()`, `saga()` or `signal()` was called,
 * for refusals of two that are in each other's way. It is known beside a definition and not in it, so that nothing that
 * compares, hashes, prints or copies definitions meets it.
 */

/** What V8 writes down of a call, as text that is made only if somebody asks. */
interface Call {
  readonly stack?: unknown;
}

const calls = new WeakMap<object, Call>();

/** Gives `definition` back, and notes that it was made where `maker` was called. */
export function madeBy<Definition extends object>(maker: Maker, definition: Definition): Definition {
  calls.set(definition, callOf(maker));
  return definition;
}

/** Gives `definition` back, and notes that it was made where `first` was: it is that with something added. */
export function madeWith<Definition extends object>(first: object, definition: Definition): Definition {
  const call = calls.get(first);
  if (call !== undefined) calls.set(definition, call);
  return definition;
}

/** File, line and column of the call that made it, or what can be said instead: `/shop/src/charge.ts:12:27`. */
export function placeOf(definition: object): string {
  try {
    const stack = calls.get(definition)?.stack;
    const [, place] = (typeof stack === 'string' && FRAME.exec(stack)) || [];
    return place?.replace(/^file:\/\//, '') ?? UNKNOWN;
  } catch {
    // The host makes the texts of stacks itself, and could not make this one.
    return UNKNOWN;
  }
}

type Maker = (...given: never) => unknown;

/** The last line of a stack: `at chargeOf (file:///shop/src/charge.ts:12:27)`. */
const FRAME = /\n\s*at (?:.*? \()?(.+:\d+:\d+)\)?\s*$/;

const UNKNOWN = 'an unknown place';

/** One frame, whatever the host keeps of its own errors. */
function callOf(maker: Maker): Call {
  const call: Call = {};
  const { stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = 1;
    Error.captureStackTrace(call, maker);
    Error.stackTraceLimit = stackTraceLimit;
  } catch {
    // Only setting the limit can throw, where the host has frozen what is built in: the place stays unknown.
  }
  return call;
}
