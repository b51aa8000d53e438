import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'done-before-taken-for-a-refusal',
  what: 'A company that says it is done already is taken to refuse whatever comes under the key, so that an order has failed and is charged.',
  edits: [
    {
      file: 'src/providers/sender.ts',
      find: "    case 'done':\n    case 'done-before':\n    case 'unreadable':",
      replace: "    case 'done':\n    case 'unreadable':",
    },
    {
      file: 'src/providers/sender.ts',
      find: "    case 'key-conflict':\n      return",
      replace:
        "    case 'done-before':\n      return { type: 'failed', code: 'done-before', speaksFor: 'key' };\n    case 'key-conflict':\n      return",
    },
    {
      file: 'src/providers/sender.ts',
      find: '    if (!saysDone(verdict.proves) || reply.type',
      replace: "    if (!saysDone(verdict.proves) || verdict.proves === 'done-before' || reply.type",
    },
  ],
};
