/**
 * The wakes, and what processes tell each other, on a wire that loses, doubles, delays, hurries, reorders and forges
 * them. All of it is a hint and nothing more: whatever the wire does may change when something happens, and never what.
 */

import { keyOf } from '../../src/ports/store.ts';
import type { News, Told, Wake, Waker } from '../../src/ports/waker.ts';
import type { Course } from './course.ts';
import type { Process } from './process.ts';

/** Nothing has to be woken more often than this in one schedule. */
const WAKES_MAX = 3_000;

interface Listener {
  readonly onWake: (wake: Wake) => Promise<void>;
  readonly onNews: (news: Told) => void;
}

/** What a process watches of one aggregate. */
interface Watch {
  readonly process: Process;
  readonly onChange: (rests: boolean) => void;
}

export class Wire {
  readonly #course: Course;
  readonly #listening = new Map<Process, Listener>();
  readonly #watching = new Map<string, Set<Watch>>();
  /** Said of nobody's operation, or of somebody else's: what a forger would try. */
  readonly #overheard: Wake[] = [];
  /** How often each was to be woken. */
  readonly #wakes = new Map<string, number>();

  constructor(course: Course) {
    this.#course = course;
  }

  wakerOf(process: Process): Waker {
    /** The latest wake that was asked for, by operation. */
    const latest = new Map<string, object>();
    return {
      start: async (onWake, onNews) => {
        this.#listening.set(process, { onWake, onNews });
      },
      wake: (wake, delayMs) => this.#send(process, wake, delayMs, latest),
      stop: async () => {
        this.#listening.delete(process);
        latest.clear();
      },
      ...(this.#course.plan.sharedWaker ? this.#between(process) : {}),
    };
  }

  /** What a network has besides. */
  #between(process: Process): Pick<Waker, 'tell' | 'watch'> {
    return {
      tell: (news) => this.#tell(process, news),
      watch: (ref, onChange) => {
        const watch = { process, onChange };
        const watching = this.#watching.get(keyOf(ref)) ?? new Set();
        this.#watching.set(keyOf(ref), watching.add(watch));
        return () => watching.delete(watch);
      },
    };
  }

  #tell(from: Process, news: News): void {
    const { chance } = this.#course;
    this.#carry(() => this.#hear(from, news));
    if (news.kind === 'changed' || news.kind === 'freed' || !this.#course.strikes('wake-forged')) return;
    const { tenant, operationId: id } = this.#forged({
      tenant: news.ref.tenant,
      operationId: news.ref.id,
      generation: null,
    });
    this.#carry(() => this.#hear(from, { kind: chance.oneOf(['said', 'due']), ref: { tenant, id } }));
  }

  /** What is told comes at once, late, twice or never. */
  #carry(arrive: () => void): void {
    const { agenda, chance, healed, plan } = this.#course;
    if ((healed && plan.keeps === 'a deaf waker') || this.#course.strikes('wake-lost')) return;
    agenda.after(this.#course.strikes('wake-late') ? chance.between(0, 20_000) : 0, arrive);
    if (this.#course.strikes('wake-doubled')) agenda.after(chance.between(0, 3_000), arrive);
  }

  #hear(from: Process, news: News): void {
    const { chance, tally } = this.#course;
    if (news.kind === 'changed') {
      for (const { process, onChange } of this.#watching.get(keyOf(news.ref)) ?? []) {
        if (process === from || !process.isAlive) continue;
        tally.met('told another process: changed');
        process.sees(() => onChange(news.rests));
      }
      return;
    }
    const others = [...this.#listening.keys()].filter((process) => process !== from && process.isAlive);
    const one = others[chance.below(others.length)];
    for (const process of news.kind !== 'due' ? others : one === undefined ? [] : [one]) {
      tally.met(`told another process: ${news.kind}`);
      process.sees(() => this.#listening.get(process)?.onNews(news));
    }
  }

  #send(process: Process, wake: Wake, delayMs: number, latest: Map<string, object>): void {
    const course = this.#course;
    const { chance, plan } = course;
    if (!this.#listening.has(process)) return;
    this.#overheard.push(wake);
    const wakes = (this.#wakes.get(wake.operationId) ?? 0) + 1;
    this.#wakes.set(wake.operationId, wakes);
    if (wakes > WAKES_MAX) course.violated('I18', `${wake.operationId} is woken ${wakes} times`);
    if (course.strikes('wake-forged')) this.#deliver(process, this.#forged(wake), chance.between(0, 2_000), () => true);
    const isDeaf = course.healed && plan.keeps === 'a deaf waker';
    if (isDeaf || course.strikes('wake-lost')) return;
    let afterMs = delayMs;
    if (course.strikes('wake-late')) afterMs += chance.between(0, 20_000);
    if (course.strikes('wake-early')) afterMs *= chance.number();
    const asked = {};
    const name = keyOf({ tenant: wake.tenant, id: wake.operationId });
    latest.set(name, asked);
    // Within one process a later wish replaces an earlier one; what is on a network stays on its way.
    const counts = () => plan.sharedWaker || latest.get(name) === asked;
    this.#deliver(process, wake, afterMs, counts);
    if (course.strikes('wake-doubled')) this.#deliver(process, wake, afterMs + chance.between(0, 3_000), counts);
  }

  #deliver(from: Process, wake: Wake, delayMs: number, counts: () => boolean): void {
    const { agenda, chance, plan } = this.#course;
    agenda.after(delayMs, () => {
      if (!counts()) return;
      const listening = [...this.#listening.keys()].filter((process) => process.isAlive);
      const to = plan.sharedWaker ? listening[chance.below(listening.length)] : from;
      to?.sees(() => void this.#listening.get(to)?.onWake(wake));
    });
  }

  #forged(wake: Wake): Wake {
    const { chance } = this.#course;
    const other = this.#overheard[chance.below(this.#overheard.length)] ?? wake;
    return chance.oneOf<Wake>([
      { ...wake, operationId: 'op_nobody' },
      { ...wake, tenant: other.tenant === 'north' ? 'south' : 'north' },
      { ...other, generation: (wake.generation ?? 0) + 1 },
      { ...other, generation: null },
      other,
    ]);
  }
}
