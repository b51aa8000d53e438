import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'inverse-under-a-new-key-each-turn',
  what: 'Each turn of a saga gives its inverses another key, so one whose reply was lost is carried out twice.',
  file: 'src/orchestrator/saga.ts',
  find: "idempotencyKey: before?.idempotencyKey ?? birth?.providerKey ?? '',",
  replace:
    "idempotencyKey: contextOf(row).policy.inverse ? `${id} ${seen}` : (before?.idempotencyKey ?? birth?.providerKey ?? ''),",
};
