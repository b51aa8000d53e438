/** A port some of whose members are other ones, for who watches, delays or loses what goes by. */

/** The same store, or waker, with these members in place of its own, or beside them. */
export function overlay<Port extends object, Members extends object>(
  port: Port,
  members: Partial<Port> & Members,
): Port & Members {
  // A prototype keeps every other verb, whatever the port is made of.
  return Object.assign(Object.create(port) as Port, members);
}
