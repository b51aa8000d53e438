/**
 * What this process may have under way: a permit stands for one attempt or look-up, and is a slot of the process with one
 * of each limit that it counts towards, its action's, its provider's and its tenant's; while a provider is ill, and when
 * it has been sent to again too often, there is none for it. A start is recorded only with its permit in hand. Who waits
 * for a limit of its own keeps nobody else waiting.
 */

import type { Ceiling } from '../define/work-limit.ts';
import type { Clock } from '../ports/clock.ts';
import { Breaker, type BreakerState, type Condition, type Pass } from './breaker.ts';
import type { ProviderCare } from './provider-limit.ts';
import { Quota } from './quota.ts';

/** What a permit is for. */
export interface Errand {
  readonly tenant: string;
  readonly action: string;
  /** `further`: something of the operation was sent before. */
  readonly kind: 'first' | 'further' | 'look-up';
}

/** The limits of one process. */
export interface Ceilings {
  /** Slots: attempts and look-ups at once, whatever they are. */
  readonly concurrency: number;
  /** By action: its own and its provider's, as far as there are any. Actions that have the same object share it. */
  readonly ofActions: ReadonlyMap<string, readonly Ceiling[]>;
  readonly ofProviders: ReadonlyMap<string, ProviderCare>;
  /** By action; those that are missing name none. */
  readonly providerOf: ReadonlyMap<string, string>;
  /** Of each tenant; null: there is none. */
  readonly perTenant: Ceiling | null;
}

/** What there is no use in claiming. */
export interface LeftOut {
  readonly tenants: readonly string[];
  readonly actions: readonly string[];
}

/** One attempt or look-up may be under way. */
export class Permit {
  readonly #quotas: readonly Quota[];
  readonly #pass: Pass | null;
  readonly #onBack: () => void;
  #isUsed = false;
  #isBack = false;

  /** `pass`: by the breaker of its provider, if it has one. */
  constructor(quotas: readonly Quota[], pass: Pass | null, onBack: () => void) {
    this.#quotas = quotas;
    this.#pass = pass;
    this.#onBack = onBack;
    for (const quota of quotas) quota.take();
  }

  /** What it is for is recorded, or goes out: from now on it counts towards the rates. */
  use(): void {
    if (this.#isUsed) return;
    this.#isUsed = true;
    for (const quota of this.#quotas) quota.use();
  }

  /** The attempt that it is for has ended. */
  ended(condition: Condition): void {
    this.#pass?.ended(condition);
  }

  /** Of one that was not used nothing is left. Calling it again does nothing. */
  giveBack(): void {
    if (this.#isBack) return;
    this.lend();
    this.#onBack();
  }

  /** As `giveBack`, but nobody hears of it: it is to be taken back at once, or forgotten. */
  lend(): void {
    this.#isBack = true;
    for (const quota of this.#quotas) quota.giveBack(this.#isUsed);
    this.#pass?.giveBack();
  }

  takeBack(): void {
    this.#isBack = false;
    for (const quota of this.#quotas) quota.take(this.#isUsed);
  }
}

type Go = (permit: Permit | null) => void;

interface Wanted {
  readonly errand: Errand;
  /** Or goes out beside the slots. */
  readonly takesSlot: boolean;
}

/** Those who wait for the same, in the order in which they asked. */
interface Line extends Wanted {
  readonly waiting: { readonly place: number; readonly go: Go }[];
}

/** How it stands with one provider. */
interface Provider {
  readonly breaker: Breaker | null;
  readonly retryBudget: Quota | null;
  /** Of look-ups, while the breaker is not closed. */
  readonly lookups: Quota;
}

/** A provider that is ill may still be asked, which is how doubts end; slowly, so that questions do not add to it. */
const LOOKUPS_OF_THE_ILL: Ceiling = { concurrency: 2, pace: { atOnce: 1, everyMs: 1_000 } };

/** So many tenants may be known before those that have nothing under way are forgotten. */
const TENANTS_KNOWN = 1_000;

export class Permits {
  readonly size: number;
  readonly #clock: Clock;
  readonly #onFree: () => void;
  readonly #slots: Quota;
  readonly #ofActions: ReadonlyMap<string, readonly Quota[]>;
  readonly #providers: ReadonlyMap<string, Provider>;
  readonly #providerOf: ReadonlyMap<string, string>;
  readonly #perTenant: Ceiling | null;
  readonly #ofTenants = new Map<string, Quota>();
  readonly #lines = new Map<string, Line>();
  #asked = 0;
  #tenantsMax = TENANTS_KNOWN;
  #isStopped = false;

  /**
   * `onFree` is called when something has come free, after those who wait have had their share of it; `onBreaker` when a
   * breaker has changed.
   */
  constructor(
    { concurrency, ofActions, ofProviders, providerOf, perTenant }: Ceilings,
    clock: Clock,
    onFree: () => void,
    onBreaker: (provider: string, state: BreakerState, before: BreakerState) => void = () => {},
  ) {
    this.size = concurrency;
    this.#clock = clock;
    this.#onFree = onFree;
    this.#slots = this.#quota({ concurrency, pace: null });
    const all = new Set([...ofActions.values()].flat());
    const quotas = new Map([...all].map((ceiling) => [ceiling, this.#quota(ceiling)]));
    this.#ofActions = new Map(
      [...ofActions].map(([action, ceilings]) => [action, ceilings.flatMap((ceiling) => quotas.get(ceiling) ?? [])]),
    );
    this.#providers = new Map(
      [...ofProviders].map(([name, { breaker, retryBudget }]) => {
        const changed = (state: BreakerState, before: BreakerState) => {
          if (state !== before) onBreaker(name, state, before);
          this.#cameFree();
        };
        return [
          name,
          {
            breaker: breaker === null ? null : new Breaker(breaker, clock, changed),
            retryBudget: retryBudget === null ? null : this.#quota(retryBudget),
            lookups: this.#quota(LOOKUPS_OF_THE_ILL),
          },
        ];
      }),
    );
    this.#providerOf = providerOf;
    this.#perTenant = perTenant;
  }

  /** By provider, of those that have one. */
  get breakers(): Readonly<Record<string, BreakerState>> {
    const all = [...this.#providers].flatMap(([name, { breaker }]) =>
      breaker === null ? [] : [[name, breaker.state]],
    );
    return Object.fromEntries(all);
  }

  /** Tenants that something is known of: never many more than have something under way. */
  get tenantsKnown(): number {
    return this.#ofTenants.size;
  }

  /** Slots of the process that are free. */
  get free(): number {
    return this.#slots.left;
  }

  /**
   * A permit at once, or null. `instead` is given up for it where there is one: what both need goes over, so that who goes
   * on with something else does not wait behind others for what it had.
   */
  tryTake(errand: Errand, instead: Permit | null = null): Permit | null {
    // Who is in line may go as soon as a rate lets it, also when its timer is late.
    this.#serve();
    instead?.lend();
    const permit = this.#permit({ errand, takesSlot: true });
    if (permit === null) instead?.takeBack();
    else if (instead !== null) this.#cameFree();
    return permit;
  }

  /** A permit as soon as there is one, in the order of asking; null: this process begins nothing any more. */
  take(errand: Errand): Promise<Permit | null> {
    return this.#take({ errand, takesSlot: true });
  }

  /** As `take`, for what goes out beside the slots: only the limits count. */
  takeBeside(errand: Errand): Promise<Permit | null> {
    return this.#take({ errand, takesSlot: false });
  }

  /**
   * What has no permit of its own left now: actions, and tenants. A tenant also when as many of its attempts wait in line
   * as there are slots, whatever for.
   */
  leftOut(): LeftOut {
    const inLine = [...this.#inLine()].filter(([, count]) => count >= this.size).map(([tenant]) => tenant);
    const usedUp = [...this.#ofTenants].filter(([, quota]) => isUsedUp(quota)).map(([tenant]) => tenant);
    const actions = [...this.#ofActions]
      .filter(([action, quotas]) => quotas.some(isUsedUp) || !this.#isPassable(action))
      .map(([action]) => action);
    return { tenants: [...new Set([...usedUp, ...inLine])], actions };
  }

  /** Whether of something that was left out so large a part is free again. */
  isFreeAgain({ tenants, actions }: LeftOut, share: number): boolean {
    const isFree = ({ left, size }: Quota) => left >= Math.max(1, size * share);
    const isOpenAgain = (action: string) =>
      this.#ofActions.get(action)?.every(isFree) === true && this.#isPassable(action);
    if (actions.some(isOpenAgain)) return true;
    if (tenants.length === 0) return false;
    const inLine = this.#inLine();
    return tenants.some((tenant) => {
      const quota = this.#ofTenants.get(tenant);
      return (inLine.get(tenant) ?? 0) <= this.size * (1 - share) && (quota === undefined || isFree(quota));
    });
  }

  /** How many wait, by tenant; not those that wait for a provider to get well, which may last. */
  #inLine(): ReadonlyMap<string, number> {
    const counted = new Map<string, number>();
    for (const { errand, waiting } of this.#lines.values()) {
      if (this.#isHeldByProvider(errand)) continue;
      counted.set(errand.tenant, (counted.get(errand.tenant) ?? 0) + waiting.length);
    }
    return counted;
  }

  /** Nobody gets a permit any more, nor waits for one, and no timer is left. */
  stop(): void {
    this.#isStopped = true;
    for (const { waiting } of this.#lines.values()) for (const { go } of waiting) go(null);
    this.#lines.clear();
    for (const quota of [...this.#ofActions.values()].flat()) quota.stop();
    for (const quota of this.#ofTenants.values()) quota.stop();
    for (const { breaker, retryBudget, lookups } of this.#providers.values()) {
      breaker?.stop();
      retryBudget?.stop();
      lookups.stop();
    }
  }

  async #take(wanted: Wanted): Promise<Permit | null> {
    if (this.#isStopped) return null;
    this.#serve();
    const permit = this.#permit(wanted);
    if (permit !== null) return permit;
    const { errand, takesSlot } = wanted;
    const name = JSON.stringify([errand.tenant, errand.action, errand.kind, takesSlot]);
    const line = this.#lines.get(name) ?? { ...wanted, waiting: [] };
    this.#lines.set(name, line);
    this.#asked += 1;
    const place = this.#asked;
    return await new Promise<Permit | null>((go) => line.waiting.push({ place, go }));
  }

  #permit(wanted: Wanted): Permit | null {
    if (this.#isStopped || this.#isHeld(wanted)) return null;
    const { errand } = wanted;
    const pass = errand.kind === 'look-up' ? null : (this.#provider(errand.action)?.breaker?.pass() ?? null);
    return new Permit(this.#quotasOf(wanted), pass, () => this.#cameFree());
  }

  #isHeld(wanted: Wanted): boolean {
    return !this.#mayPass(wanted.errand) || this.#quotasOf(wanted).some(isUsedUp);
  }

  #isHeldByProvider(errand: Errand): boolean {
    return !this.#mayPass(errand) || this.#quotasOfProvider(errand).some(isUsedUp);
  }

  /** As far as the breaker is concerned, which holds up no look-up. */
  #mayPass({ kind, action }: Errand): boolean {
    return kind === 'look-up' || this.#isPassable(action);
  }

  #isPassable(action: string): boolean {
    return this.#provider(action)?.breaker?.isPassable ?? true;
  }

  #provider(action: string): Provider | undefined {
    const name = this.#providerOf.get(action);
    return name === undefined ? undefined : this.#providers.get(name);
  }

  #quotasOfProvider({ kind, action }: Errand): readonly Quota[] {
    const provider = this.#provider(action);
    if (provider === undefined || kind === 'first') return [];
    const { breaker, retryBudget, lookups } = provider;
    if (kind === 'further') return retryBudget === null ? [] : [retryBudget];
    return breaker === null || breaker.state === 'closed' ? [] : [lookups];
  }

  #quotasOf({ errand, takesSlot }: Wanted): readonly Quota[] {
    const { tenant, action } = errand;
    const quotas = [...(this.#ofActions.get(action) ?? []), ...this.#quotasOfProvider(errand)];
    if (takesSlot) quotas.push(this.#slots);
    if (this.#perTenant !== null) quotas.push(this.#ofTenant(tenant, this.#perTenant));
    return quotas;
  }

  #cameFree(): void {
    this.#serve();
    if (!this.#isStopped) this.#onFree();
  }

  /** Those in line who can go, in the order in which they asked. */
  #serve(): void {
    for (let first = this.#firstToGo(); first !== null; first = this.#firstToGo()) {
      const [name, line] = first;
      line.waiting.shift()?.go(this.#permit(line));
      if (line.waiting.length === 0) this.#lines.delete(name);
    }
  }

  #firstToGo(): readonly [string, Line] | null {
    let first: readonly [string, Line] | null = null;
    let place = Infinity;
    for (const [name, line] of this.#lines) {
      const [next] = line.waiting;
      if (next === undefined || next.place > place || this.#isHeld(line)) continue;
      first = [name, line];
      place = next.place;
    }
    return first;
  }

  #ofTenant(tenant: string, ceiling: Ceiling): Quota {
    const known = this.#ofTenants.get(tenant);
    if (known !== undefined) return known;
    this.#forgetIdle();
    const quota = this.#quota(ceiling);
    this.#ofTenants.set(tenant, quota);
    return quota;
  }

  /** Looked for seldom enough that it costs nothing, however many tenants there are. */
  #forgetIdle(): void {
    if (this.#ofTenants.size < this.#tenantsMax) return;
    for (const [tenant, { isIdle }] of this.#ofTenants) if (isIdle) this.#ofTenants.delete(tenant);
    this.#tenantsMax = Math.max(TENANTS_KNOWN, 2 * this.#ofTenants.size);
  }

  #quota(ceiling: Ceiling): Quota {
    return new Quota(ceiling, this.#clock, () => this.#cameFree());
  }
}

function isUsedUp({ left }: Quota): boolean {
  return left === 0;
}
