/** A stage with one charge, `order-17` over 1200, brought into a state and kept there while time stands still. */

import { inconclusive, notApplied, type OperationState, type Run } from 'sagacity';
import type { Finding } from 'sagacity';
import { charges } from './scripted-charge.ts';
import { type Stage, stage } from './stage.ts';
import { reached } from './world.ts';

export type Arranged = Exclude<OperationState, 'compensating' | 'compensated'>;

export interface StageIn extends Stage {
  readonly run: Run;
}

export const order = { orderId: 'order-17', amount: 1200 };

/** The states that can be arranged, in the order in which an operation may meet them. */
export const arrangements: readonly Arranged[] = [
  'pending',
  'in-progress',
  'unknown',
  'reconciling',
  'escalated',
  'succeeded',
  'failed',
];

export async function stageIn(state: Arranged): Promise<StageIn> {
  const shop = await arrange(state);
  const run = await shop.orchestrator.submit(shop.charge, order);
  await reached(run, state);
  return { ...shop, run };
}

async function arrange(state: Arranged): Promise<Stage> {
  switch (state) {
    case 'pending':
      return stage({ steps: [() => notApplied('the connection was refused'), charges] });
    case 'in-progress':
      return withFault('commit-then-hold', await stage());
    case 'unknown':
      return withFault('commit-then-drop', await stage({ lookup: { ask: () => new Promise<Finding>(() => {}) } }));
    case 'reconciling':
      return withFault('commit-then-drop', await stage({ lookup: { ask: () => inconclusive('it is in progress') } }));
    case 'escalated':
      return withFault('commit-then-drop', await stage({ keyRetention: 'none', lookup: 'none' }));
    case 'succeeded':
      return stage();
    case 'failed':
      return withFault('decline', await stage());
  }
}

async function withFault(fault: 'commit-then-hold' | 'commit-then-drop' | 'decline', shop: Stage): Promise<Stage> {
  await shop.provider.faults([fault]);
  return shop;
}
