import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'left-standing-taken-back-again',
  what: 'What a person has said is left standing is taken back once more, under a key that nobody has seen.',
  edits: [
    {
      file: 'src/orchestrator/saga-compensation.ts',
      find: "!entry.compensationBegun && hasInverse && stateOf(member.row) === 'succeeded';",
      replace: "hasInverse && stateOf(member.row) === 'succeeded';",
    },
    {
      file: 'src/orchestrator/saga-turn.ts',
      find: 'this.#bear(inverse, given, undoKey(entry.id, givenUp),',
      replace: 'this.#bear(inverse, given, `${entry.compensationBegun} ${undoKey(entry.id, givenUp)}`,',
    },
  ],
};
