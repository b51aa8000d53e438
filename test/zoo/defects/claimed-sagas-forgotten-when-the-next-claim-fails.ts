import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'claimed-sagas-forgotten-when-the-next-claim-fails',
  what: 'Sagas are claimed and not taken up when the claim after theirs fails, and nothing ever happens to them.',
  edits: [
    {
      file: 'src/orchestrator/claims.ts',
      find: `    let claimed = 0;
    try {`,
      replace: `    let claimed = 0;
    const kept: AnyRow[] = [];
    try {`,
    },
    {
      file: 'src/orchestrator/claims.ts',
      find: `        for (const row of rows) {
          this.#arriving += 1;`,
      replace: `        kept.push(...rows);
        const isLast = claimed === limit || claimKind === kinds.at(-1);
        for (const row of isLast ? kept : []) {
          this.#arriving += 1;`,
    },
  ],
};
