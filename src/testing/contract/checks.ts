/**
 * What a contract says, as questions to a provider. Each check makes business of its own, and holds what came of it against
 * the contract: by what the replies prove, by the ids that they name, and by the records that there really are. What an
 * endpoint cannot bring about, or a contract does not say, is not tried, which is not the same as kept.
 */

import { randomUUID } from 'node:crypto';
import { type Contract, type SameKey, writtenKey } from '../../domain/contract.ts';
import { formatDuration } from '../../domain/duration.ts';
import { saysDone, type Verdict, verdictOf } from '../../domain/reply.ts';
import type { ContractEndpoint, EndpointReply } from './endpoint.ts';

/** What became of one question. */
export interface ContractFinding {
  /** The question, as a sentence about the provider. */
  readonly check: string;
  readonly found: 'kept' | 'broken' | 'not-tried';
  /** What was seen instead, or why it was not tried; null where it is kept. */
  readonly detail: string | null;
}

export interface ContractCheck {
  readonly check: string;
  /** Why it cannot be tried; null: it can. */
  readonly notTried: (contract: Contract, endpoint: ContractEndpoint) => string | null;
  /** Throws {@link ContractBroken}. */
  readonly run: (business: Business) => Promise<void>;
}

/** The provider did something else than its contract says. */
export class ContractBroken extends Error {
  override readonly name = 'ContractBroken';
}

/** One thing that is wanted, however often it is sent. */
interface Wanted {
  readonly key: string | null;
  readonly reference: string;
  readonly firstSentAt: number;
}

interface Answer {
  readonly reply: EndpointReply;
  readonly verdict: Verdict;
  readonly id: string | null;
}

/** What the checks do with an endpoint. */
export interface Business {
  readonly contract: Contract;
  readonly endpoint: ContractEndpoint;
  /** Something that was never sent. */
  readonly wanted: (key?: string) => Wanted;
  readonly send: (wanted: Wanted, variant?: 'first' | 'other') => Promise<Answer>;
  /** Sends what must succeed. */
  readonly make: (wanted: Wanted) => Promise<Answer & { readonly id: string }>;
  readonly passes: (ms: number) => Promise<void>;
  /** Requires so many records under its reference, if the sandbox can tell. */
  readonly counts: (wanted: Wanted, records: number) => Promise<void>;
}

/** Unless the endpoint says how much time may pass for one check. */
const WAIT_MS = 60_000;
const AT_ONCE = 8;
/** So near to the end of its retention a key is tried. */
const NEARLY = 0.9;
const SECOND_MS = 1_000;
/** What is to be refused has been answered in this time, and what is not answered in the other one waits. */
const ANSWERS_MS = 2_000;
const SETTLES_MS = 250;

export function businessWith(contract: Contract, endpoint: ContractEndpoint): Business {
  const now = () => endpoint.now?.() ?? Date.now();
  const business: Business = {
    contract,
    endpoint,
    wanted: (key = randomUUID()) => ({
      key: contract.key === null ? null : key,
      reference: `sagacity-${randomUUID()}`,
      firstSentAt: now(),
    }),
    async send({ key, reference, firstSentAt }, variant = 'first') {
      const written = key === null || contract.key === null ? null : writtenKey(contract.key, key);
      const headers: Record<string, string> = {};
      if (written !== null && contract.key?.in === 'header') headers[contract.key.name] = written;
      const firstSent = contract.key?.firstSentHeader ?? null;
      if (firstSent !== null) headers[firstSent] = new Date(firstSentAt).toUTCString();
      const reply = await endpoint.send({ key: written, headers, reference, variant });
      const verdict = verdictOf(
        contract,
        { type: 'reply', ...reply, body: { type: 'whole', value: reply.body } },
        now(),
      );
      return { reply, verdict, id: saysDone(verdict.proves) ? endpoint.idIn(reply) : null };
    },
    async make(wanted) {
      const answer = await business.send(wanted);
      must(
        answer.verdict.proves === 'done',
        `what should succeed proves ${answer.verdict.proves} (${answer.verdict.reason})`,
      );
      const { id } = answer;
      if (id === null) throw new ContractBroken('a success names no record');
      return { ...answer, id };
    },
    async passes(ms) {
      if (endpoint.passes !== undefined) return endpoint.passes(ms);
      await new Promise((resolve) => setTimeout(resolve, ms));
    },
    async counts({ reference }, records) {
      const counted = await endpoint.count?.(reference);
      must(counted === undefined || counted === records, `there are ${counted} records, and should be ${records}`);
    },
  };
  return business;
}

export const contractChecks: readonly ContractCheck[] = [
  {
    check: 'makes a record, and the reply proves it',
    notTried: () => null,
    async run({ wanted, make, counts }) {
      const one = wanted();

      const { verdict } = await make(one);

      must(!verdict.isReplay, 'the first reply says that it was given before');
      await counts(one, 1);
    },
  },
  {
    check: 'answers a second send under the same key as the contract says',
    notTried: withoutKey,
    async run({ contract, wanted, make, send, counts }) {
      const one = wanted();

      const first = await make(one);
      const second = await send(one);

      const told = contract.sameKey?.afterSuccess === 'told' ? 'done-before' : 'done';
      must(second.verdict.proves === told, `a second send proves ${second.verdict.proves}, and should prove ${told}`);
      sameRecord(first, second, 'a second send');
      must(told === 'done-before' || second.id !== null, 'a second send names no record');
      const { replayHeader } = contract;
      must(replayHeader === null || second.verdict.isReplay, `a second send has no header ${replayHeader}`);
      if (contract.sameKey?.afterSuccess === 'first-reply') {
        must(
          second.reply.status === first.reply.status,
          `the first status was ${first.reply.status}, the second another`,
        );
      }
      await counts(one, 1);
    },
  },
  {
    check: 'tells keys apart that differ only at their end',
    notTried: withoutKey,
    async run({ wanted, make, counts }) {
      const one = wanted();
      const key = `${one.key}`;
      const other = wanted(`${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}`);

      const [first, second] = [await make(one), await make(other)];

      must(first.id !== second.id, `two keys are one record (${first.id})`);
      await counts(one, 1);
      await counts(other, 1);
    },
  },
  {
    check: 'answers other parameters under a used key as the contract says',
    notTried: (contract) => withoutKey(contract) ?? unlessSaid(contract, 'otherParameters'),
    async run({ contract, wanted, make, send, counts }) {
      const one = wanted();

      const first = await make(one);
      const other = await send(one, 'other');

      if (contract.sameKey?.otherParameters === 'refused') {
        must(
          other.verdict.proves === 'key-conflict',
          `other parameters prove ${other.verdict.proves}, and no conflict`,
        );
        await counts(one, 1);
      } else if (contract.sameKey?.otherParameters === 'first-reply') {
        must(isDone(other), `other parameters prove ${other.verdict.proves}`);
        sameRecord(first, other, 'other parameters');
        await counts(one, 1);
      } else {
        must(isDone(other) && other.id !== first.id, 'other parameters make no other record');
      }
    },
  },
  {
    check: 'makes one record of many sends at once',
    notTried: withoutKey,
    async run({ contract, wanted, send, counts }) {
      const one = wanted();

      const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => send(one)));

      const [first] = answers.filter(isDone);
      if (first === undefined) throw new ContractBroken('none of them proves that it is done');
      for (const each of answers) {
        const { proves } = each.verdict;
        const mayRun = contract.sameKey?.whileRunning !== 'waits' && (proves === 'running' || proves === 'unknown');
        must(isDone(each) || mayRun, `one of them proves ${proves}, and another that it is done`);
        sameRecord(first, each, 'one of them');
      }
      await counts(one, 1);
    },
  },
  {
    check: 'answers a send while the first is under way as the contract says',
    notTried: (contract, { holding }) =>
      withoutKey(contract) ?? unlessSaid(contract, 'whileRunning') ?? unless(holding, 'to hold what is under way'),
    async run({ contract, endpoint, wanted, send, counts }) {
      const one = wanted();
      const isRefused = contract.sameKey?.whileRunning === 'refused';

      const sends: Promise<Answer>[] = [];
      const early = await whilst('holding', endpoint, () => {
        sends.push(send(one), send(one));
        return within(Promise.race(sends), isRefused ? ANSWERS_MS : SETTLES_MS);
      });
      const done = (await Promise.all(sends)).filter(isDone);

      const told = early?.verdict.proves ?? 'nothing';
      if (isRefused) must(told === 'running', `the second is told ${told}, and not that the first is under way`);
      else must(early === undefined, `the second is told ${told} while the first is under way`);
      must(done.length === (isRefused ? 1 : 2), `${done.length} of two sends are done`);
      must(new Set(done.map(({ id }) => id)).size === 1, 'two sends at once are two records');
      await counts(one, 1);
    },
  },
  {
    check: 'answers a send after a refusal as the contract says',
    notTried: (contract, { refusing }) =>
      withoutKey(contract) ?? unlessSaid(contract, 'afterRefusal') ?? unless(refusing, 'to have a request refused'),
    async run({ contract, endpoint, wanted, send, counts }) {
      const one = wanted();

      const refused = await whilst('refusing', endpoint, () => send(one));
      const again = await send(one);

      must(refused.verdict.proves === 'refused', `a refusal proves ${refused.verdict.proves}`);
      const { proves } = again.verdict;
      if (contract.sameKey?.afterRefusal === 'first-reply') {
        must(proves === 'refused', `a send after a refusal proves ${proves}, and not the same refusal`);
        await counts(one, 0);
      } else {
        must(proves === 'done', `a send after a refusal proves ${proves}, and is not executed`);
        await counts(one, 1);
      }
    },
  },
  {
    check: 'answers a send after an error of its own as the contract says',
    notTried: (contract, { failing }) =>
      withoutKey(contract) ?? unlessSaid(contract, 'afterServerError') ?? unless(failing, 'to have a request fail'),
    async run({ contract, endpoint, wanted, send, counts }) {
      const one = wanted();

      const failed = await whilst('failing', endpoint, () => send(one));
      const before = await endpoint.count?.(one.reference);
      const again = await send(one);

      must(failed.reply.status >= 500, `an error of its own has status ${failed.reply.status}`);
      must(failed.verdict.proves === 'unknown', `an error of its own proves ${failed.verdict.proves}`);
      const { proves } = again.verdict;
      const said = contract.sameKey?.afterServerError;
      if (said === 'first-reply') {
        must(
          again.reply.status === failed.reply.status,
          `a send after status ${failed.reply.status} has ${again.reply.status}`,
        );
        await counts(one, before ?? 0);
      } else {
        must(isDone(again), `a send after an error of its own proves ${proves}`);
        if (said === 'resumes') await counts(one, 1);
      }
    },
  },
  {
    check: 'knows the key until its retention is over',
    notTried: (contract, endpoint) => withoutKey(contract) ?? retentionNotTried(contract, endpoint),
    async run({ contract, wanted, make, send, passes, counts }) {
      const one = wanted();

      const first = await make(one);
      await passes(Math.floor((contract.keyRetentionMs ?? 0) * NEARLY));
      const late = await send(one);

      must(isDone(late), `a send near the end proves ${late.verdict.proves}`);
      sameRecord(first, late, 'a send near the end');
      await counts(one, 1);
    },
  },
  {
    check: 'refuses what comes after its retention',
    notTried: (contract, endpoint) =>
      contract.replies.some(({ proves }) => proves === 'too-late')
        ? retentionNotTried(contract, endpoint)
        : 'it does not say that it does',
    async run({ contract, wanted, make, send, passes, counts }) {
      const [used, unused] = [wanted(), wanted()];

      await make(used);
      await passes((contract.keyRetentionMs ?? 0) + SECOND_MS);
      const answers = [await send(used), await send(unused)];

      for (const { verdict } of answers)
        must(verdict.proves === 'too-late', `what comes too late proves ${verdict.proves}`);
      await counts(used, 1);
      await counts(unused, 0);
    },
  },
  {
    check: 'shows a record to the look-up within the time that the contract says',
    notTried: lookupNotTried,
    async run({ contract, endpoint, wanted, make, passes }) {
      const one = wanted();

      const { id } = await make(one);
      await passes(contract.lookup?.visibleWithinMs ?? 0);
      const shown = (await endpoint.lookUp?.(one)) ?? [];

      must(
        shown.length === 1 && shown[0] === id,
        `the look-up shows ${shown.length === 0 ? 'nothing' : shown.join(', ')}, and should ${id}`,
      );
    },
  },
  {
    check: 'shows nothing to a look-up of what was never sent',
    notTried: lookupNotTried,
    async run({ contract, endpoint, wanted, make, passes }) {
      await make(wanted());
      await passes(contract.lookup?.visibleWithinMs ?? 0);

      const shown = (await endpoint.lookUp?.(wanted())) ?? [];

      must(shown.length === 0, `the look-up of what was never sent shows ${shown.join(', ')}`);
    },
  },
];

function must(holds: boolean, otherwise: string): void {
  if (!holds) throw new ContractBroken(otherwise);
}

function isDone({ verdict: { proves } }: Answer): boolean {
  return saysDone(proves);
}

function sameRecord(first: Answer, second: Answer, what: string): void {
  must(second.id === null || second.id === first.id, `${what} is another record (${second.id}, and not ${first.id})`);
}

function withoutKey({ key }: Contract): string | null {
  return key === null ? 'it takes no key' : null;
}

function unlessSaid({ sameKey }: Contract, option: keyof SameKey): string | null {
  return sameKey?.[option] === 'unsaid' ? 'the contract does not say' : null;
}

function unless(means: unknown, toDo: string): string | null {
  return means === undefined ? `the endpoint has no means ${toDo}` : null;
}

function tooLong(ms: number, { patienceMs = WAIT_MS }: ContractEndpoint): string | null {
  return ms > patienceMs ? `it takes ${formatDuration(ms)}` : null;
}

function retentionNotTried({ keyRetentionMs }: Contract, endpoint: ContractEndpoint): string | null {
  return keyRetentionMs === null ? 'the contract does not say' : tooLong(keyRetentionMs, endpoint);
}

function lookupNotTried({ lookup }: Contract, endpoint: ContractEndpoint): string | null {
  if (lookup === null) return 'there is no look-up';
  return unless(endpoint.lookUp, 'to look up') ?? tooLong(lookup.visibleWithinMs, endpoint);
}

type Means = 'refusing' | 'failing' | 'holding';

/** Does it while the provider refuses, fails or holds; what has no means to is not tried. */
function whilst<Result>(means: Means, endpoint: ContractEndpoint, work: () => Promise<Result>): Promise<Result> {
  const brought = endpoint[means]?.(work);
  if (brought === undefined) throw new Error(`The endpoint has no ${means}.`);
  return brought;
}

/** What it resolves with, or undefined when that takes longer. */
async function within<Value>(promise: Promise<Value>, ms: number): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
