/**
 * What befalls processes and the database as a whole, at moments that chance chooses: they are killed, frozen, stopped
 * and started again, their machines sleep and their clocks jump, the database goes away, restarts and fails over.
 */

import type { Course } from './course.ts';
import type { Database } from './database.ts';
import type { Fleet } from './fleet.ts';

export function startWeather(course: Course, database: Database, fleet: Fleet): void {
  const { chance, agenda } = course;
  const next = (): void => {
    agenda.after(chance.between(100, 4_000), () => {
      if (course.healed) return;
      befall(course, database, fleet);
      next();
    });
  };
  next();
}

function befall(course: Course, database: Database, fleet: Fleet): void {
  const { chance } = course;
  const process = fleet.anyone();
  if (process !== null) {
    if (course.strikes('crash')) return process.crash('at a moment of chance');
    if (course.strikes('graceful-stop')) return fleet.stop(process);
    if (course.strikes('freeze')) return fleet.freeze(process, chance.logBetween(100, 60_000), false);
    if (course.strikes('sleep')) return fleet.freeze(process, chance.logBetween(1_000, 120_000), true);
    if (course.strikes('clock-jump')) process.jump(chance.between(-600_000, 600_000));
  }
  if (course.strikes('outage')) return database.goAway(chance.logBetween(100, 30_000));
  if (course.strikes('store-restart')) return database.restart();
  if (course.comes('failover') && database.failOver()) course.tally.struck('failover');
}
