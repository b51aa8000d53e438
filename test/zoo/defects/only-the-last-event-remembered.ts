import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'only-the-last-event-remembered',
  what: 'Of the events that a chart was given only the last one is remembered, so that an older one that comes again counts again.',
  file: 'src/orchestrator/saga-turn.ts',
  find: 'heard: [...this.#course.heard, eventId] };',
  replace: 'heard: [eventId] };',
};
