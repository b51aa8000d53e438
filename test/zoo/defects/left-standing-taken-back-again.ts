import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'left-standing-taken-back-again',
  what: 'What a person has said is left standing is taken back once more, under a key that nobody has seen.',
  edits: [
    {
      file: 'src/orchestrator/saga-compensation.ts',
      find: "!entry.compensationBegun && hasInverse && state === 'succeeded';",
      replace: "hasInverse && state === 'succeeded';",
    },
    {
      file: 'src/orchestrator/saga-turn.ts',
      find: '#bearInverse({ id, step }: Entry,',
      replace: '#bearInverse({ id, step, compensationBegun }: Entry,',
    },
    {
      file: 'src/orchestrator/saga-turn.ts',
      find: 'this.#bear(inverse, given, undoKey(id, givenUp),',
      replace: 'this.#bear(inverse, given, `${compensationBegun} ${undoKey(id, givenUp)}`,',
    },
  ],
};
