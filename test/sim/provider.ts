/**
 * The other company: it has a ledger and a memory of its own, and between it and us is a network. It keeps what it
 * promises about keys and look-ups, except where a plan says that it breaks it, and that is marked for whoever judges.
 * Its ledger is the proof: how many effects an operation had is counted there and nowhere else.
 */

import {
  absent,
  failed,
  type Finding,
  found,
  inconclusive,
  notApplied,
  type Outcome,
} from '../../src/domain/outcome.ts';
import { succeeded, unknown } from '../../src/domain/outcome.ts';
import type { AttemptContext, LookupContext } from '../../src/define/operation.ts';
import type { Course } from './course.ts';
import type { Promised } from './plan.ts';
import type { Process } from './process.ts';
import type { Charged, Order } from './shop.ts';
import type { Watch } from './watch.ts';

/** One charge that was made. */
export interface Effect {
  readonly subject: string;
  readonly action: string;
  readonly idempotencyKey: string;
  readonly at: number;
  readonly visibleAt: number;
  readonly reference: string;
  readonly amount: bigint;
}

/** What it says again to whoever comes under a key that it knows. */
export type Answer =
  | { readonly type: 'effect'; readonly effect: Effect }
  | { readonly type: 'refusal'; readonly code: string }
  /** Of those by `http`: an error of the server, and that the key was used for something else. */
  | { readonly type: 'error' }
  | { readonly type: 'taken' };

interface Remembered {
  readonly firstAt: number;
  readonly answer: Answer;
}

/** A request that has been sent and has not arrived yet. */
interface UnderWay {
  readonly subject: string;
  readonly promised: Promised;
  readonly idempotencyKey: string;
  readonly arrivesAt: number;
  /** From then on it is refused, whenever it arrives; null: at no time. */
  readonly lapsesAt: number | null;
}

/** What an order is called everywhere in the simulator: two tenants may have orders of one name. */
export function subjectOf(action: string, { tenant, order }: Pick<Order, 'tenant' | 'order'>): string {
  return `${tenant}/${action}/${order}`;
}

export class Provider {
  readonly ledger: Effect[] = [];
  /** Orders about which the provider broke its word. */
  readonly liedAbout = new Set<string>();
  readonly #course: Course;
  readonly #watch: Watch;
  readonly #memory = new Map<string, Remembered>();
  /** By key. They stay in the books, whatever comes later. */
  readonly #refusals = new Map<string, string>();
  readonly #underWay = new Set<UnderWay>();
  readonly #firstCallAt = new Map<string, number>();

  constructor(course: Course, watch: Watch) {
    this.#course = course;
    this.#watch = watch;
  }

  effectsOf(subject: string): readonly Effect[] {
    return this.ledger.filter((effect) => effect.subject === subject);
  }

  /** Whether a request about it can still take effect: not one whose key is given the answer that it was given before. */
  isUnderWay(subject: string): boolean {
    return [...this.#underWay].some(
      ({ subject: of, promised, idempotencyKey, arrivesAt, lapsesAt }) =>
        of === subject &&
        (lapsesAt === null || arrivesAt < lapsesAt) &&
        this.answerTo(promised, idempotencyKey, arrivesAt) === null,
    );
  }

  execute(
    process: Process,
    promised: Promised,
    { input, idempotencyKey, attempt, abortSignal }: AttemptContext<Order>,
  ): Promise<Outcome<Charged, string>> {
    const course = this.#course;
    const { chance, agenda, plan } = course;
    const subject = subjectOf(promised.action, input);
    this.#watch.sends(process, promised, { input, idempotencyKey, attempt });
    course.tell(process.name, `sends ${subject}, attempt ${attempt}`);
    const firstCallAt = this.firstCallAt(subject);

    return new Promise((resolve, reject) => {
      let isGivenUp = false;
      const fails = (afterMs: number, why: string) => process.later(afterMs, () => reject(new Error(why)));
      if (promised.honoursAbort) {
        abortSignal.addEventListener('abort', () => {
          isGivenUp = true;
          reject(new Error('The request was aborted.'));
        });
      }
      if (course.strikes('crash-at-a-call')) {
        agenda.after(0, () => process.crash('as its request leaves'));
      }
      if (course.healed && plan.keeps === 'a black-holed provider') return;
      if (course.strikes('request-lost')) {
        if (chance.is(0.5)) fails(chance.between(0, promised.timeoutMs), 'socket hang up');
        return;
      }
      const travelMs = this.travelMs(promised, firstCallAt);
      this.arrives({ subject, promised, idempotencyKey, lapsesAt: null }, travelMs, () => {
        const answer = this.#receive(promised, subject, input, idempotencyKey);
        if (course.strikes('error-after-effect')) return fails(chance.between(0, 50), 'HTTP 500');
        if (course.strikes('reply-lost')) {
          if (chance.is(0.5)) fails(chance.between(0, promised.timeoutMs), 'socket hang up');
          return;
        }
        const replyMs = course.strikes('slow-reply')
          ? promised.timeoutMs + chance.between(0, 6_000)
          : chance.between(0, 50);
        process.later(replyMs, () => {
          if (!isGivenUp && answer.type !== 'unknown')
            this.#watch.answered(process, subject, { idempotencyKey, attempt });
          resolve(answer);
        });
      });
    });
  }

  find(
    process: Process,
    promised: Promised,
    { input, idempotencyKey, abortSignal }: LookupContext<Order>,
  ): Promise<Finding<Charged, string>> {
    const course = this.#course;
    const { chance, agenda, plan } = course;
    const subject = subjectOf(promised.action, input);
    this.#watch.asks(process, promised, { input, idempotencyKey });
    return new Promise((resolve, reject) => {
      const answers = (finding: Finding<Charged, string>) => {
        course.tell('provider', `${subject} looked up: ${finding.type}`);
        course.tally.met(`look-up: ${finding.type}`);
        process.later(chance.between(0, 50), () => resolve(finding));
      };
      abortSignal.addEventListener('abort', () => reject(new Error('The look-up was aborted.')));
      if (course.healed && plan.keeps === 'a black-holed provider') return;
      if (course.strikes('lookup-silent')) return;
      if (course.strikes('lookup-error')) {
        course.tally.met('look-up: error');
        return process.later(chance.between(0, 500), () => reject(new Error('HTTP 503')));
      }
      agenda.after(chance.between(0, 200), () => {
        if (course.strikes('lookup-inconclusive')) return answers(inconclusive('still being processed'));
        const [first, ...more] = this.shown(idempotencyKey).map((effect) => this.#told(promised, effect));
        if (first !== undefined) return answers(found(first, ...more));
        const refusal = this.refusalOf(idempotencyKey);
        if (refusal !== null) return answers(found<Charged, string>(failed(refusal)));
        answers(absent());
      });
    });
  }

  /** The records under a key that are visible by now. */
  shown(idempotencyKey: string): readonly Effect[] {
    const { now } = this.#course.agenda;
    return this.ledger.filter((effect) => effect.idempotencyKey === idempotencyKey && effect.visibleAt <= now);
  }

  /** As it stands in the books. */
  refusalOf(idempotencyKey: string): string | null {
    return this.#refusals.get(idempotencyKey) ?? null;
  }

  /** When something about it was sent for the first time, which may be now. */
  firstCallAt(subject: string): number {
    const at = this.#firstCallAt.get(subject) ?? this.#course.agenda.now;
    this.#firstCallAt.set(subject, at);
    return at;
  }

  /** Until it arrives it can take effect. */
  arrives(request: Omit<UnderWay, 'arrivesAt'>, travelMs: number, received: () => void): void {
    const { agenda } = this.#course;
    const underWay: UnderWay = { ...request, arrivesAt: agenda.now + travelMs };
    this.#underWay.add(underWay);
    agenda.after(travelMs, () => {
      this.#underWay.delete(underWay);
      received();
    });
  }

  /**
   * How long a request travels. What comes later than its client waits stays within what the provider promises about
   * that: its limit of arrival, or else its memory of the key; where it promises nothing, any time.
   */
  travelMs(promised: Promised, firstCallAt: number): number {
    const { chance } = this.#course;
    if (!this.#course.strikes('late-arrival')) return chance.between(0, Math.min(100, promised.timeoutMs));
    return this.lateMs(promised, firstCallAt);
  }

  /** Late, and within what is promised. */
  lateMs({ lookup, keyRetentionMs, timeoutMs }: Promised, firstCallAt: number): number {
    const { chance, agenda } = this.#course;
    const latestMs = (() => {
      if (lookup !== null && lookup.arrivalLimitMs !== null) return timeoutMs + lookup.arrivalLimitMs;
      if (keyRetentionMs === null) return 300_000;
      return firstCallAt + keyRetentionMs - agenda.now - 1;
    })();
    return chance.between(0, Math.max(0, latestMs));
  }

  #receive(promised: Promised, subject: string, input: Order, idempotencyKey: string): Outcome<Charged, string> {
    const course = this.#course;
    const { agenda } = course;
    if (course.strikes('not-applied')) return notApplied('HTTP 429');
    if (course.strikes('busy')) return unknown('HTTP 409: a request with this key is being processed');
    const answer = this.answerTo(promised, idempotencyKey, agenda.now);
    const knows = answer !== null;
    if (answer?.type === 'refusal') return failed(answer.code);
    if (answer?.type === 'effect') {
      if (!course.strikes('executes-twice')) return this.#told(promised, answer.effect);
      this.liedAbout.add(subject);
    } else if (course.strikes('executes-twice')) {
      this.liedAbout.add(subject);
      this.charge(promised, subject, input, idempotencyKey);
    }
    if (!knows && course.strikes('refused')) {
      // Who keeps no refusal in its books does not know one by its key either: the next request is decided anew.
      if (promised.showsRefusals) {
        if (promised.remembersRefusals) this.remember(idempotencyKey, { type: 'refusal', code: 'card_declined' });
        this.writeRefusal(idempotencyKey, 'card_declined');
      }
      return failed('card_declined');
    }
    const effect = this.charge(promised, subject, input, idempotencyKey);
    if (!knows) this.remember(idempotencyKey, { type: 'effect', effect });
    return this.#told(promised, effect);
  }

  /** What is answered under a key from now on, for as long as it is known. */
  remember(idempotencyKey: string, answer: Answer): void {
    this.#memory.set(idempotencyKey, { firstAt: this.#course.agenda.now, answer });
  }

  /** Into the books, where look-ups show it. */
  writeRefusal(idempotencyKey: string, code: string): void {
    this.#refusals.set(idempotencyKey, code);
  }

  /** What was answered for a key that it still knows then, or null. */
  answerTo({ keyRetentionMs }: Promised, idempotencyKey: string, at: number): Answer | null {
    const remembered = this.#memory.get(idempotencyKey);
    const knows = keyRetentionMs !== null && remembered !== undefined && at < remembered.firstAt + keyRetentionMs;
    return knows ? remembered.answer : null;
  }

  charge(promised: Promised, subject: string, input: Order, idempotencyKey: string): Effect {
    const course = this.#course;
    const { agenda, chance } = course;
    const { lookup } = promised;
    const lagMs = lookup !== null && course.strikes('lookup-lag') ? chance.between(0, lookup.visibleWithinMs) : 0;
    const effect: Effect = {
      subject,
      action: promised.action,
      idempotencyKey,
      at: agenda.now,
      visibleAt: agenda.now + lagMs,
      reference: `ch_${this.ledger.length + 1}`,
      amount: input.amount,
    };
    this.ledger.push(effect);
    course.tell('provider', `charges ${subject}: ${effect.reference}`);
    this.#watch.charged(effect);
    return effect;
  }

  #told({ namesRecords }: Promised, effect: Effect): ReturnType<typeof succeeded<Charged>> {
    const output = this.#course.strikes('unusable-output')
      ? { ...outputOf(effect), broken: true as const }
      : outputOf(effect);
    return namesRecords ? succeeded(output, { reference: effect.reference }) : succeeded(output);
  }
}

/** What every telling of one effect says. */
export function outputOf({ reference, amount }: Effect): Charged {
  return { receipt: reference, amount, fee: -0, note: undefined };
}
