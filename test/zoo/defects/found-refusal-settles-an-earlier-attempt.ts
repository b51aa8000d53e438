import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'found-refusal-settles-an-earlier-attempt',
  what: 'A refusal in the books is taken for the answer to an attempt that was sent before the refused one, and arrived after it.',
  file: 'src/domain/attempt.ts',
  find: "    (attempt) => isUnproven(attempt) || attempt.standing === 'refused' || attempt.stated === true,\n  );\n",
  replace:
    "    (attempt) => isUnproven(attempt) || attempt.standing === 'refused' || attempt.stated === true,\n  ).filter(({ number }) => number <= (attempts.findLast(isUnproven)?.number ?? 0));\n",
};
