/** One HTTP call to a provider as a client makes it; rejects when the connection breaks, and never tries again. */

export interface Reply {
  readonly status: number;
  readonly replayed: boolean;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function post(url: string, path: string, key: string | undefined, body: unknown): Promise<Reply> {
  const headers = key === undefined ? {} : { 'idempotency-key': key };
  const sent = typeof body === 'string' ? body : JSON.stringify(body);
  return readReply(await fetch(`${url}${path}`, { method: 'POST', headers, body: sent }));
}

export async function get(url: string, path: string): Promise<Reply> {
  return readReply(await fetch(`${url}${path}`));
}

/** The message with which a call broke; one that did not break is the failure here. */
export function breakOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'it did not break',
    (fault: unknown) => (fault instanceof Error ? fault.message : String(fault)),
  );
}

async function readReply(response: Response): Promise<Reply> {
  const text = await response.text();
  const replayed = response.headers.get('idempotent-replayed') === 'true';
  return { status: response.status, replayed, text, body: parsed(text) };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    // The provider answers with objects only; a spoilt answer is the exception below.
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return {};
  }
}
