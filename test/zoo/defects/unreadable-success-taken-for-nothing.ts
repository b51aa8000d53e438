import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'unreadable-success-taken-for-nothing',
  what: 'A success whose body is cut off is taken to have had no effect, so that in the end an order has failed and is charged.',
  edits: [
    {
      file: 'src/providers/sender.ts',
      find: "    case 'unreadable':\n    case 'accepted':",
      replace: "    case 'accepted':",
    },
    {
      file: 'src/providers/sender.ts',
      find: "    case 'not-done':\n    case 'too-late':",
      replace: "    case 'not-done':\n    case 'unreadable':\n    case 'too-late':",
    },
  ],
};
