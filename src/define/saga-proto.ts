import type { SagaChain } from './saga-chain.ts';
import type { Schema } from './schema.ts';
export declare function saga<const Name extends string, Submitted, Input>(name: Name, options: { input: Schema<Submitted, Input>; key: (c: { input: Input }) => string }): SagaChain<Name, Input, {}, {}, 'backward', Submitted>;
