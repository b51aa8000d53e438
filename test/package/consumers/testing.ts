import { stripeV1 } from 'sagacity/providers';
import {
  type ContractFinding,
  contractFindings,
  contractProvider,
  memoryStore,
  providerEndpoint,
  scriptedProvider,
  type ScriptedProvider,
  testClock,
} from 'sagacity/testing';

const clock = testClock();
export const store = memoryStore({ clock });
export async function lies(): Promise<readonly ContractFinding[]> {
  const company = await contractProvider(stripeV1.refunds, { lies: ['ignores-the-key'] });
  return contractFindings(company.contract, providerEndpoint(company));
}
export const provider: () => Promise<ScriptedProvider> = () => scriptedProvider();
