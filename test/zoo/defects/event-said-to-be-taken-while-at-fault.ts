import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'event-said-to-be-taken-while-at-fault',
  what: 'Who sends an event to a saga whose definition is at fault is told that it was taken, and it is lost.',
  file: 'src/orchestrator/saga-turn.ts',
  find: "    if (!isSound) return refused('its definition is at fault; send it again once that is repaired');",
  replace: '    if (!isSound) return accepting;',
};
