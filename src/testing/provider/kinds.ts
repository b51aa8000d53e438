/**
 * The kinds of business record this company keeps, and the path each is posted to. The table is the only
 * authority: a path that is not derived from it does not exist, and an id is always `<kind>_<number>`.
 */

const kindOfPlural = new Map([
  ['jobs', 'job'],
  ['authorisations', 'authorisation'],
  ['payments', 'payment'],
  ['captures', 'capture'],
  ['charges', 'charge'],
  ['voids', 'void'],
  ['refunds', 'refund'],
  ['transfers', 'transfer'],
  ['reservations', 'reservation'],
  ['releases', 'release'],
  ['bookings', 'booking'],
  ['shipments', 'shipment'],
  ['cancellations', 'cancellation'],
  ['returns', 'return'],
  ['invoices', 'invoice'],
  ['emails', 'email'],
]);

/** Every kind of record, in the order of the table. */
export const kinds: readonly string[] = [...kindOfPlural.values()];

/** The kind posted to `/<plural>`, or undefined when the company has no such path. */
export function kindAt(plural: string): string | undefined {
  return kindOfPlural.get(plural);
}
