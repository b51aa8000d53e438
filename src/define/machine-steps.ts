/**
 * The steps of a hand-written machine, read off its chart without XState: an XState machine is recognised and read by
 * what it is made of, because the root entry needs none and several copies may be installed. Only invocations with a
 * named source are steps; whatever else a chart may hold is judged where it is prepared to run.
 */

/** As much of an XState machine as is read here. */
export interface MachineLike {
  readonly root: StateLike;
}

interface StateLike {
  readonly config?: { readonly invoke?: unknown };
  readonly states?: Readonly<Record<string, StateLike>>;
}

export function isMachine(value: unknown): value is MachineLike {
  if (typeof value !== 'object' || value === null || !('root' in value)) return false;
  const can = (verb: string) => typeof Reflect.get(value, verb) === 'function';
  return typeof value.root === 'object' && value.root !== null && can('provide') && can('getInitialSnapshot');
}

/** Each step by the name it has in the saga, its invocation's own id or else its source, with that source. */
export function sourcesByStep({ root }: MachineLike): ReadonlyMap<string, string> {
  return new Map(invocationsIn(root));
}

function invocationsIn({ config, states }: StateLike): [string, string][] {
  const written = config?.invoke === undefined ? [] : [config.invoke].flat();
  const own = written.flatMap((invocation: unknown): [string, string][] => {
    if (typeof invocation !== 'object' || invocation === null) return [];
    const { id, src }: { id?: unknown; src?: unknown } = invocation;
    return typeof src === 'string' ? [[typeof id === 'string' ? id : src, src]] : [];
  });
  return [...own, ...Object.values(states ?? {}).flatMap(invocationsIn)];
}
