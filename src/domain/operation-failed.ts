/** stub */
export function operationFailed(facts: { step: string; action: string; code: string }) {
  return { name: 'OperationFailed', ...facts, message: `${facts.action} was refused with ${facts.code}` };
}
