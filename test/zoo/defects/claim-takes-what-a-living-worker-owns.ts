import type { Defect } from '../defect.ts';

export const defect: Defect = {
  name: 'claim-takes-what-a-living-worker-owns',
  what: 'The sweep claims what is under way elsewhere, so an attempt is given up as unknown while its worker still waits for it.',
  file: 'src/adapters/memory/rows.ts',
  find: 'if (!isLivingOwned(rows, row)) ready.push({ row, at: row.dueAt ?? row.since, isOnlyDue: false });',
  replace: 'ready.push({ row, at: row.dueAt ?? row.since, isOnlyDue: false });',
};
