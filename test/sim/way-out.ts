/**
 * The way from a process to the company that is reached by `http`, below the library's own sender: connections that are
 * slow or do not come about, requests and replies that are lost or late, and processes that stop waiting. What a process
 * is shown is what it would see on a real wire, and whether a request has left is known here for certain.
 */

import type { Arrival, Departure, GivenUp, Outgoing } from '../../src/providers/arrival.ts';
import { accessTo } from '../../src/providers/access.ts';
import { managedSender } from '../../src/providers/sender.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Sender } from '../../src/ports/sender.ts';
import { bodyOf, type ByHttp, COMPANY, firstSentIn } from './contracts.ts';
import { ATTEMPT, FOR } from './http-shop.ts';
import type { Promised } from './plan.ts';
import type { Process } from './process.ts';
import { type Provider, subjectOf } from './provider.ts';
import type { Replies, Reply, Request } from './replies.ts';
import type { Order } from './shop.ts';
import type { Watch } from './watch.ts';

export interface Companies {
  readonly provider: Provider;
  readonly replies: Replies;
  readonly watch: Watch;
}

export function senderOf(process: Process, clock: Clock, companies: Companies): Sender {
  return managedSender({
    clock,
    accessTo: accessTo({ [COMPANY]: { url: `https://${COMPANY}.example` } }),
    dispatch: (_company, outgoing, departure) => new Trip(process, companies, outgoing, departure).arrival,
    open: () => Promise.resolve(),
    close: () => Promise.resolve(),
  });
}

const evidence = {
  timings: { gateMs: null, headMs: null, endMs: 0 },
  ...{ error: null, bodyDigest: null, refusedStream: false },
} as const;

/** One request, and what its process sees of it. */
class Trip {
  readonly arrival: Promise<Arrival>;
  readonly #process: Process;
  readonly #companies: Companies;
  readonly #outgoing: Outgoing;
  readonly #departure: Departure;
  readonly #promised: Promised;
  readonly #http: ByHttp;
  #hasLeft = false;
  #isOver = false;
  #resolve: (arrival: Arrival) => void = () => {};
  #stopWaiting = () => {};

  constructor(process: Process, companies: Companies, outgoing: Outgoing, departure: Departure) {
    this.#process = process;
    this.#companies = companies;
    this.#outgoing = outgoing;
    this.#departure = departure;
    const action = new URL(outgoing.url).pathname.split('/')[1] ?? '';
    const { promised, sagas } = process.course.plan;
    const [known] = [...promised, ...sagas.promised].filter((one) => one.action === action);
    if (known === undefined || known.http === null) throw new Error(`Nobody answers ${outgoing.url} by http.`);
    this.#promised = known;
    this.#http = known.http;
    this.arrival = new Promise<Arrival>((resolve) => {
      this.#resolve = resolve;
    });
    this.#begin();
  }

  #begin(): void {
    const { signal, timeoutMs } = this.#departure;
    const giveUp = (reason: GivenUp) => this.#giveUp(reason);
    if (signal.aborted) return giveUp('aborted');
    const { agenda } = this.#process.course;
    this.#stopWaiting = agenda.after(timeoutMs, () => this.#process.sees(() => giveUp('timed-out')));
    signal.addEventListener('abort', () => giveUp('aborted'), { once: true });
    if (this.#outgoing.method === 'GET') this.#ask();
    else this.#connect();
  }

  #giveUp(reason: GivenUp): void {
    if (this.#hasLeft) this.#ends({ gate: 'opened', status: null, reason, ...evidence });
    else this.#ends({ gate: 'shut', reason, ...evidence });
  }

  #ends(arrival: Arrival): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopWaiting();
    this.#resolve(arrival);
  }

  // Requests that change something

  #connect(): void {
    const { course } = this.#process;
    const { chance } = course;
    const request = this.#requested();
    this.#companies.watch.http.begins(this.#process, request);
    if (course.strikes('no-connection')) {
      const shut = { gate: 'shut', reason: 'not-connected', ...evidence } as const;
      return this.#process.later(chance.between(0, 1_000), () => this.#ends(shut));
    }
    if (!course.strikes('slow-connection')) return this.#leave(request);
    this.#process.later(chance.between(0, 2 * this.#promised.sendWithinMs), () => this.#leave(request));
  }

  #requested(): Request {
    const { headers } = this.#outgoing;
    const [idempotencyKey = '', attempt] = (headers[ATTEMPT] ?? '').split('/');
    const said = bodyOf(this.#outgoing) as Written;
    const input: Order = {
      ...{ tenant: said.tenant, order: said.order, amount: BigInt(said.amount), placed: new Date(said.placed) },
      note: said.note,
    };
    const firstSentAt = firstSentIn(this.#outgoing);
    const { keyRetentionMs } = this.#promised;
    return {
      ...{ promised: this.#promised, http: this.#http, input, idempotencyKey, attempt: Number(attempt) },
      subject: subjectOf(this.#promised.action, input),
      lapsesAt: firstSentAt === null || keyRetentionMs === null ? null : firstSentAt + keyRetentionMs,
    };
  }

  #leave(request: Request): void {
    if (this.#isOver) return;
    const objection = this.#departure.mayLeave();
    if (objection !== null) return this.#ends({ gate: 'shut', reason: objection, ...evidence });
    this.#hasLeft = true;
    const process = this.#process;
    const { course } = process;
    const { chance, agenda, plan } = course;
    const { provider, replies, watch } = this.#companies;
    const { promised, subject, input, idempotencyKey, attempt, lapsesAt } = request;
    watch.sends(process, promised, { input, idempotencyKey, attempt });
    watch.http.sends(request, this.#outgoing);
    course.tell(process.name, `sends ${subject}, attempt ${attempt}, by http`);
    if (course.strikes('crash-at-a-call')) agenda.after(0, () => process.crash('as its request leaves'));
    const firstCallAt = provider.firstCallAt(subject);
    if (course.healed && plan.keeps === 'a black-holed provider') return;
    if (course.strikes('request-lost')) return this.#hangUp();
    // What lapses does so by the time of day.
    const arriving = {
      subject,
      promised,
      idempotencyKey,
      lapsesAt: lapsesAt === null ? null : agenda.now + lapsesAt - course.now,
    };
    provider.arrives(arriving, provider.travelMs(promised, firstCallAt), () => {
      const said = replies.to(request);
      const reply = course.strikes('error-after-effect') ? replies.gateway() : said;
      course.tell('provider', `answers ${subject}, attempt ${attempt}: ${reply.status}`);
      if (course.strikes('reply-lost')) return this.#hangUp();
      const isSlow = course.strikes('slow-reply');
      process.later(isSlow ? promised.timeoutMs + chance.between(0, 6_000) : chance.between(0, 50), () => {
        if (this.#isOver) return;
        watch.http.told(request, reply);
        if (settles(reply)) watch.answered(process, subject, { idempotencyKey, attempt });
        this.#ends(this.#arrived(reply));
      });
    });
  }

  /** The other side hangs up, or is silent. */
  #hangUp(): void {
    const { chance } = this.#process.course;
    if (!chance.is(0.5)) return;
    const lost = { gate: 'opened', status: null, reason: 'connection-lost', ...evidence } as const;
    this.#process.later(chance.between(0, this.#promised.timeoutMs), () => this.#ends(lost));
  }

  // Requests that change nothing

  #ask(): void {
    this.#hasLeft = true;
    const process = this.#process;
    const { course } = process;
    const { chance, agenda, plan, tally } = course;
    const { watch, replies } = this.#companies;
    const url = new URL(this.#outgoing.url);
    const record = url.pathname.split('/')[2];
    if (course.healed && plan.keeps === 'a black-holed provider') return;
    if (record === undefined) {
      // Written by the executors of the simulator.
      const input = JSON.parse(this.#outgoing.headers[FOR] ?? '') as Order;
      watch.asks(process, this.#promised, { input, idempotencyKey: url.searchParams.get('key') ?? '' });
    }
    if (course.strikes('lookup-silent')) return;
    if (course.strikes('lookup-error')) {
      tally.met('look-up: error');
      return process.later(chance.between(0, 500), () =>
        this.#ends(this.#arrived({ status: 503, headers: {}, body: null })),
      );
    }
    agenda.after(chance.between(0, 200), () => {
      const answers = (reply: Reply, shows: string) => {
        if (record === undefined) tally.met(`look-up: ${shows}`);
        course.tell('provider', `is asked by http: ${reply.status}`);
        process.later(chance.between(0, 50), () => this.#ends(this.#arrived(reply)));
      };
      if (course.strikes('lookup-inconclusive'))
        return answers({ status: 503, headers: {}, body: null }, 'inconclusive');
      if (record !== undefined) return answers(replies.record(this.#promised, record), '');
      const { shows, ...reply } = replies.lookUp(this.#promised, this.#http, url.searchParams.get('key') ?? '');
      answers(reply, shows);
    });
  }

  #arrived({ status, headers, body }: Reply): Arrival {
    const told = { 'content-type': 'application/json', ...headers };
    const isCut = status < 300 && body === undefined && status !== 202;
    const text = body === undefined || body === null ? (isCut ? '{"id":' : '') : JSON.stringify(body);
    const bytes = new TextEncoder().encode(text);
    // Of what is cut off the length tells, or only what is in it.
    const isShort = isCut && this.#process.course.chance.is(0.5);
    const kept = isShort
      ? ({ type: 'broken', reason: 'cut-off', bytes } as const)
      : ({ type: 'whole', bytes } as const);
    return { gate: 'opened', status, headers: told, body: kept, ...evidence };
  }
}

/** An order as it is sent. */
interface Written {
  readonly tenant: string;
  readonly order: string;
  readonly amount: string;
  readonly placed: string;
  readonly note?: string;
}

/** It tells what became of its request, so that it must be in the history. */
function settles({ status, body, headers }: Reply): boolean {
  if (status === 200) return body !== undefined;
  return [401, 402, 412, 413, 422, 429].includes(status) || headers['transient-error'] !== undefined;
}
