/**
 * A saga whose chart has changed under its version, in a process that cannot go on with it: nothing of it is moved, sent,
 * taken or forgotten. It is escalated, and given back with a due time, so that a person sees it and a process that has the
 * chart which it was stored with, or can move it on, takes it up. Until then all that it waited for stands as it was.
 */

import type { SagaRow, SagaTurn, Store } from '../ports/store.ts';
import type { Aggregate, Happening, Made, Member, Others, Timer } from './aggregate.ts';
import { CHANGED } from './saga-turn.ts';

/** Who can go on with it finds it after such a pause. */
const PAUSE_MS = 5_000;

/** One that is escalated already is kept for so long, since it would be met again at once. */
const KEPT_MS = 60_000;

export class ChangedSaga implements Aggregate {
  readonly kind = 'saga';
  readonly startsAtMost = 0;
  /** It knows nothing of them. */
  readonly members: ReadonlyMap<string, Member> = new Map();
  readonly #row: SagaRow;
  readonly #isEscalated: boolean;

  constructor(row: SagaRow) {
    this.#row = row;
    this.#isEscalated = row.state === 'escalated' && row.reason === 'definition-changed';
  }

  get ref() {
    const { tenant, id } = this.#row;
    return { tenant, id };
  }

  get timers(): readonly Timer[] {
    const dueAt = this.#isEscalated ? this.#row.now + KEPT_MS : 0;
    return [{ name: CHANGED, generation: 0, dueAt, looks: false }];
  }

  async look(): Promise<Others> {
    return { operations: new Map(), sagas: new Map() };
  }

  read(store: Pick<Store, 'readSaga'>): Promise<SagaRow | null> {
    return store.readSaga(this.ref);
  }

  readAgain(): ChangedSaga {
    return this;
  }

  advance({ type }: Happening): Made | null {
    if (this.#isEscalated && type !== 'timer') return null;
    const { id, tenant, name, version, format, snapshot, dues } = this.#row;
    const kept = Object.keys(dues).map((due) => ({ name: due, inMs: null }));
    const looked = { name: CHANGED, inMs: PAUSE_MS };
    const turn: Omit<SagaTurn, 'turn' | 'was' | 'generation'> = {
      ...{ tenant, id, birth: null, becomes: null, format, snapshot, output: null, timeline: null },
      ...{ operations: [], records: [], takes: [], signals: [], owner: null },
      ...{ state: 'escalated', reason: 'definition-changed' },
      dues: [...kept.filter((due) => due.name !== CHANGED), looked],
    };
    return {
      ...{ waitMs: null, isUnderWay: false, rests: true, starts: [], changes: [this.ref] },
      ...{ answers: new Map(), asks: [], begins: [], wakes: [], lets: [] },
      after: () => this,
      afterwards: (logger) =>
        logger.warn(
          { saga: id, tenant, name, version },
          'a saga has another chart than it had when it was stored, and waits: give the changed chart the next version, ' +
            'and register the old one for what is under way, or a migration',
        ),
      turn: ({ turn: written, was, generation }) => ({ ...turn, turn: written, was, generation }),
    };
  }
}
