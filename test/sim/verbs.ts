/** What a process asks of the store. A test compares the list with the store's own verbs. */

export const verbs = [
  'enlist',
  'renew',
  'bury',
  'retire',
  'turn',
  'claim',
  'handedOver',
  'read',
  'readByIdentity',
  'records',
  'doubts',
  'escalatedSagas',
  'sagaVersions',
  'sagasInFlight',
  'settledBetween',
  'handOver',
  'signal',
  'readSignal',
  'heldLocks',
  'sagaTurn',
  'claimSagas',
  'readSaga',
  'readSagaByIdentity',
  'sagaRecords',
] as const;

export type Verb = (typeof verbs)[number];
