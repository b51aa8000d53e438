/**
 * Whether a specification has caught a defect. Only a test that came to its judgement counts: an assertion that did
 * not hold, or a wait for what must come that ended at its deadline. A specification that fails because the defective
 * module cannot be loaded, or calls what is not there, has judged nothing.
 */

import { firstLine, type SpecReport } from './specs.ts';

export type Verdict =
  /** `by`: the test that noticed. */
  | { readonly type: 'caught'; readonly by: string }
  | { readonly type: 'unnoticed'; readonly why: string }
  | { readonly type: 'could-not-run'; readonly why: string };

/** Judges a run with the defect. */
export function verdictOn({ tests, failed, broken }: SpecReport): Verdict {
  if (broken !== null) return { type: 'could-not-run', why: `the spec did not get to its tests: ${broken}` };
  const messages = failed.flatMap((test) => test.messages);
  const breakage = messages.find(isBreakage);
  if (breakage !== undefined)
    return { type: 'could-not-run', why: `the defect breaks the code: ${firstLine(breakage)}` };
  const judged = failed.find((test) => test.messages.some(isJudgement));
  if (judged !== undefined) return { type: 'caught', by: judged.title };
  const [first] = messages;
  if (first !== undefined)
    return { type: 'unnoticed', why: `no assertion failed; a test ended in ${firstLine(first)}` };
  return { type: 'unnoticed', why: `all ${tests} tests of the spec passed` };
}

/** Why a run without any defect is no ground to judge from; null: it is. */
export function flawOf({ tests, failed, broken }: SpecReport): string | null {
  if (broken !== null) return `the spec does not run without the defect either: ${broken}`;
  const [first] = failed;
  if (first !== undefined) return `the spec fails without the defect as well: ${first.title}`;
  return tests === 0 ? 'the spec has no tests' : null;
}

/** How a test says that it has judged. What awaits a promise loses the name of its AssertionError in the report. */
const judgements = [
  /^AssertionError\b/,
  /^Error: expected /,
  /^Error: promise (resolved|rejected) "/,
  // `until` of `test/support/world.ts`.
  /^Error: Waited [\d.]+ seconds for /,
];

function isJudgement(message: string): boolean {
  return judgements.some((judgement) => judgement.test(message));
}

function isBreakage(message: string): boolean {
  return /^(SyntaxError|TypeError|ReferenceError)\b|^Error: (Cannot find|Failed to (load|resolve))\b/.test(message);
}
