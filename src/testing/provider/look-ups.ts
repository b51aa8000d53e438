/**
 * What happens to a look-up. It answers from the ledger what is visible there by now, unless the script has it
 * fail, lag or vanish; it never changes anything. A key under which this company did more than it promised is
 * answered with the first record and the `others`, so that a careful reader can see it.
 */

import { pause } from './clock.ts';
import type { ProviderClock } from './clock.ts';
import { drop } from './exchange.ts';
import { shownRecord } from './ledger.ts';
import type { Ledger } from './ledger.ts';
import { lookupModes } from './modes.ts';
import type { LookupModeName, Mode } from './modes.ts';
import type { Script } from './script.ts';
import { noteMode, reject, reply, replyGarbage } from './visit.ts';
import type { Visit } from './visit.ts';

export interface LookUps {
  byKey(visit: Visit): Promise<void>;
  byReference(visit: Visit, reference: string | null): Promise<void>;
}

interface Found {
  readonly status: number;
  readonly body: object;
}

export function openLookUps(ledger: Ledger, script: Script<LookupModeName>, clock: ProviderClock): LookUps {
  async function lookUp(visit: Visit, find: () => Found, nothing: Found): Promise<void> {
    const mode: Mode<LookupModeName> = script.take(visit.kind) ?? { name: 'ok' };
    const behaviour = lookupModes[mode.name];
    noteMode(visit, mode);
    if (behaviour.slow === true) await pause(clock, mode.ms);
    if (!visit.stillCounts()) return;
    if (behaviour.reply === 'drop') {
      visit.open.log('LOOKUP');
      return drop(visit.response);
    }
    const found = behaviour.reply === 'error' ? broken : behaviour.reply === 'nothing' ? nothing : find();
    visit.open.log('LOOKUP', { status: found.status });
    if (behaviour.reply === 'garbage') return replyGarbage(visit, found.status);
    reply(visit, found.status, found.body);
  }

  return {
    byKey(visit) {
      const find = () => {
        const seen = visit.keyless || visit.key === null ? [] : ledger.visibleByKey(visit.kind, visit.key);
        const [first, ...others] = seen.map(shownRecord);
        if (first === undefined) return unknownKey;
        return { status: 200, body: others.length === 0 ? first : { ...first, others } };
      };
      return lookUp(visit, find, unknownKey);
    },
    async byReference(visit, reference) {
      if (reference === null) return reject(visit, 400, 'reference_required');
      const find = () => {
        const records = ledger.visibleByReference(visit.kind, reference).map(shownRecord);
        return { status: 200, body: { count: records.length, records } };
      };
      return lookUp(visit, find, noRecords);
    },
  };
}

const unknownKey: Found = { status: 404, body: { error: 'not_found' } };
const noRecords: Found = { status: 200, body: { count: 0, records: [] } };
const broken: Found = { status: 500, body: { error: 'lookup_unavailable' } };
