/**
 * What stands in a stored output where a part could not be kept. An effect that is proven stays proven whatever its
 * output was, so the part is replaced and named instead of the whole being refused.
 */

const kinds = ['function', 'symbol', 'instance', 'cycle', 'getter', 'depth', 'size'] as const;

/** Why the part could not be kept. `getter` is one that threw; `size` one with more parts than the codec carries. */
export type UnstorableKind = (typeof kinds)[number];

const brand = Symbol.for('sagacity.unstorable');

/** The marker: what was there (`kind`, and `className` of an instance), and where (`path`). It survives the codec. */
export class Unstorable {
  readonly kind: UnstorableKind;
  readonly path: string;
  readonly className?: string;

  constructor(kind: UnstorableKind, path: string, className?: string) {
    this.kind = kind;
    this.path = path;
    if (className !== undefined) this.className = className;
    Object.freeze(this);
  }

  get [brand](): true {
    return true;
  }
}

/** Tells whether a part of an output is such a marker, made by this or another copy of the library. Never throws. */
export function isUnstorable(value: unknown): value is Unstorable {
  try {
    return typeof value === 'object' && value !== null && brand in value;
  } catch {
    return false;
  }
}

export function isUnstorableKind(value: unknown): value is UnstorableKind {
  return kinds.some((kind) => kind === value);
}
