import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'lost-starts-taken-for-one',
  what: 'Of several requests whose starts a fail-over lost one was refused, and that is taken for the answer to all of them.',
  file: 'src/domain/attempt.ts',
  find: '  return refusable.length > 1 || refusable.some(({ assumedOn }) => assumedOn !== undefined);\n',
  replace: '  return refusable.length > 1;\n',
};
