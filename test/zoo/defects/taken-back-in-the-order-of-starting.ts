import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'taken-back-in-the-order-of-starting',
  what: 'What began last is taken back first, although something else that rests on it settled later.',
  file: 'src/orchestrator/saga-compensation.ts',
  find: `.toSorted((a, b) => (b.entry.settledAs ?? 0) - (a.entry.settledAs ?? 0));
}

/** What is to be taken back now`,
  replace: `.toReversed();
}

/** What is to be taken back now`,
};
