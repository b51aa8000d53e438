/** The JSON value type: what a store keeps and what the codec produces. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
