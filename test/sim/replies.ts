/**
 * How the other company answers requests that come by `http`: with a status, headers and a body, as its contract has it.
 * Its ledger and its memory are the provider's; this says what they look like from outside, and what it forgets.
 */

import type { Course } from './course.ts';
import { afterServerError, type ByHttp, repeatsRefusals, speaksForKey } from './contracts.ts';
import type { Promised } from './plan.ts';
import type { Answer, Effect, Provider } from './provider.ts';
import type { Order } from './shop.ts';

/** A request as it arrives. */
export interface Request {
  readonly promised: Promised;
  readonly http: ByHttp;
  readonly subject: string;
  readonly input: Order;
  readonly attempt: number;
  readonly idempotencyKey: string;
  /** From then on it comes too late; null: at no time. */
  readonly lapsesAt: number | null;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: it is cut off. */
  readonly body: unknown;
}

/** Records that were made by a request which was answered with an error, and whose key was forgotten over that. */
export interface Released {
  readonly attempt: number;
}

/** Where a pause is asked for, it is up to so long. */
const PAUSE_MAX_S = 30;

export class Replies {
  readonly #course: Course;
  readonly #books: Provider;
  /** By the reference of the record. */
  readonly released = new Map<string, Released>();

  constructor(course: Course, books: Provider) {
    this.#course = course;
    this.#books = books;
  }

  to(request: Request): Reply {
    const course = this.#course;
    const { http, idempotencyKey, lapsesAt } = request;
    const isKeyed = http.kind !== 'unkeyed';
    if (course.strikes('locked-out')) return this.#met('locked out', replyOf(401));
    if (course.strikes('not-applied')) return replyOf(429);
    if (course.strikes('rate-limited')) return this.#limited();
    if (course.strikes('refused-early')) return this.#met('refused early', replyOf(413));
    const isLate = lapsesAt !== null && course.now >= lapsesAt;
    if (isLate || (http.kind === 'tracking' && course.strikes('too-late'))) {
      return this.#met('too late for its key', replyOf(412));
    }
    if (course.strikes('gateway-error')) return this.gateway();
    if (isKeyed && course.strikes('busy')) return this.#met('an earlier request is running', replyOf(409));
    const known = this.#known(request);
    if (known !== null) return this.#again(request, known);
    if (isKeyed && course.strikes('key-taken')) {
      this.#books.remember(idempotencyKey, { type: 'taken' });
      return this.#met('the key was used for something else', replyOf(422));
    }
    if (course.strikes('server-error')) return this.#breaks(request);
    if (course.strikes('accepted')) return this.#accepts(request);
    return this.#decides(request);
  }

  /** What stands before the company does not get through to it, or loses what it said. */
  gateway(): Reply {
    const { chance } = this.#course;
    const pause = chance.is(0.3) ? this.#pause() : {};
    return replyOf(chance.oneOf([502, 503, 504]), undefined, pause);
  }

  /** To who reads one record. */
  record({ namesRecords }: Promised, reference: string): Reply {
    const effect = this.#books.ledger.find((one) => one.reference === reference);
    return effect === undefined ? replyOf(404) : replyOf(200, this.#told(namesRecords, effect));
  }

  /** To who looks for records under a key. */
  lookUp({ namesRecords }: Promised, { kind }: ByHttp, idempotencyKey: string): Reply & { readonly shows: Shows } {
    const records = this.#books.shown(idempotencyKey).map((effect) => this.#told(namesRecords, effect));
    if (records.length > 0) return { ...replyOf(200, { records }), shows: 'found' };
    const code = this.#books.refusalOf(idempotencyKey);
    if (code === null) return { ...replyOf(404), shows: 'absent' };
    return { ...replyOf(200, { records: [], refused: code, forKey: speaksForKey(kind) }), shows: 'found' };
  }

  #known({ http, promised, idempotencyKey }: Request): Answer | null {
    return http.kind === 'unkeyed' ? null : this.#books.answerTo(promised, idempotencyKey, this.#course.agenda.now);
  }

  #limited(): Reply {
    const { chance } = this.#course;
    if (chance.is(0.7)) return this.#met('too many, and a pause asked for', replyOf(429, undefined, this.#pause()));
    const headers = { 'transient-error': 'true', ...this.#pause() };
    return this.#met('down before it looked at anything', replyOf(503, undefined, headers));
  }

  /** In seconds, or as a date by the clock of who says it. */
  #pause(): Readonly<Record<string, string>> {
    const { chance, now } = this.#course;
    const seconds = 1 + chance.below(PAUSE_MAX_S);
    if (chance.is(0.5)) return { 'retry-after': String(seconds) };
    const date = (ms: number) => new Date(ms).toUTCString();
    return { date: date(now), 'retry-after': date(now + 1_000 * seconds) };
  }

  /** Under a key that it knows. */
  #again(request: Request, known: Answer): Reply {
    const course = this.#course;
    const { promised, http, subject, input, idempotencyKey } = request;
    const replayed = { replayed: 'true' };
    switch (known.type) {
      case 'error':
        return this.#met('a stored error given again', replyOf(500, undefined, replayed));
      case 'taken':
        return replyOf(422);
      case 'refusal':
        return this.#met('a refusal given again', replyOf(402, refused(known.code), replayed));
      case 'effect': {
        if (course.strikes('executes-twice')) {
          this.#books.liedAbout.add(subject);
          return this.#done(promised, this.#books.charge(promised, subject, input, idempotencyKey), {});
        }
        const { effect } = known;
        if (http.kind === 'resuming') course.tally.met('http: gone on with');
        if (http.kind !== 'telling') return this.#done(promised, effect, replayed);
        return this.#met('done before, and named', replyOf(409, { existing: effect.reference }));
      }
    }
  }

  #decides({ promised, http, subject, input, idempotencyKey }: Request): Reply {
    const course = this.#course;
    const books = this.#books;
    if (course.strikes('executes-twice')) {
      books.liedAbout.add(subject);
      books.charge(promised, subject, input, idempotencyKey);
    }
    if (course.strikes('refused')) {
      const isKept = repeatsRefusals(http.kind);
      if (isKept) books.remember(idempotencyKey, { type: 'refusal', code: DECLINED });
      else if (http.kind !== 'unkeyed') course.tally.met('http: a refusal released the key');
      if (promised.showsRefusals) books.writeRefusal(idempotencyKey, DECLINED);
      return replyOf(402, refused(DECLINED));
    }
    const effect = books.charge(promised, subject, input, idempotencyKey);
    books.remember(idempotencyKey, { type: 'effect', effect });
    return this.#done(promised, effect, {});
  }

  /** An error of the company's own, before or after it has done it. */
  #breaks({ promised, http, subject, input, attempt, idempotencyKey }: Request): Reply {
    const { chance } = this.#course;
    const effect = chance.is(0.5) ? this.#books.charge(promised, subject, input, idempotencyKey) : null;
    switch (afterServerError(http.kind)) {
      case 'first-reply':
        this.#books.remember(idempotencyKey, { type: 'error' });
        break;
      case 're-executes':
        this.#course.tally.met('http: an error released the key');
        if (effect !== null) this.released.set(effect.reference, { attempt });
        break;
      default:
        if (effect !== null) this.#books.remember(idempotencyKey, { type: 'effect', effect });
    }
    return replyOf(500);
  }

  /** It does it later, if nobody comes first under the key. */
  #accepts(request: Request): Reply {
    const { promised, subject, idempotencyKey, lapsesAt } = request;
    const laterMs = this.#books.lateMs(promised, this.#books.firstCallAt(subject));
    const isForNothing = this.#course.chance.is(0.3);
    if (!isForNothing) {
      this.#books.arrives({ subject, promised, idempotencyKey, lapsesAt }, laterMs, () => {
        if (this.#known(request) !== null) return;
        if (lapsesAt !== null && this.#course.now >= lapsesAt) return;
        this.#met('accepted, and decided later', this.#decides(request));
      });
    }
    return this.#met('accepted', replyOf(202));
  }

  #done({ namesRecords }: Promised, effect: Effect, headers: Readonly<Record<string, string>>): Reply {
    const body = this.#told(namesRecords, effect);
    if (!this.#course.strikes('unreadable')) return replyOf(200, body, headers);
    return this.#met('a success that cannot be read', replyOf(200, undefined, headers));
  }

  #told(namesRecords: boolean, { reference, amount }: Effect): Told {
    const broken = this.#course.strikes('unusable-output') ? { broken: true as const } : {};
    return { ...(namesRecords ? { id: reference } : {}), receipt: reference, amount: String(amount), ...broken };
  }

  #met<Given>(what: string, given: Given): Given {
    this.#course.tally.met(`http: ${what}`);
    return given;
  }
}

type Shows = 'found' | 'absent';

/** A record as it is told. */
export interface Told {
  readonly id?: string;
  readonly receipt: string;
  readonly amount: string;
  readonly broken?: true;
}

const DECLINED = 'card_declined';

function refused(code: string) {
  return { error: { code } };
}

function replyOf(status: number, body?: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers, body };
}
