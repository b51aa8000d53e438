/** The guarantees as they are printed: each as it is judged, for people or as a line of JSON, and a sentence at the end. */

import type { GuaranteeRow, GuaranteesSummary } from './guarantees.ts';

export function rowText({ guarantee, defect, spec, caught, by, why }: GuaranteeRow): string {
  const verdict = caught ? `caught by "${by}"` : `NOT CAUGHT: ${why}`;
  return `${guarantee.padEnd(3)}  ${defect ?? '(no defect)'}\n     ${spec}\n     ${verdict}`;
}

/** Which test noticed is for people; why none did is for everybody. */
export function rowJson({ by: _, ...row }: GuaranteeRow): string {
  return JSON.stringify(row);
}

export function verdictText({ ok, guarantees, caught }: GuaranteesSummary, ms: number): string {
  const took = `(${Math.round(ms / 1000)} s)`;
  if (ok) return `Each of the ${guarantees} guarantees was broken once, and its spec noticed ${took}.`;
  return `Of ${guarantees} guarantees that were broken, ${guarantees - caught} went uncaught ${took}.`;
}
