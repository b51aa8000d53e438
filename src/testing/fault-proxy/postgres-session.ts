/**
 * One connection to PostgreSQL, followed from its first byte, so that a ruling can lose a request or a reply in it. The
 * client's messages are gathered up to the one that makes the server act on them, and reach it together or not at all.
 */

import type { Filter, Filtered } from './connection.ts';
import { type Message, messages, statementTexts } from './postgres-messages.ts';

/** What is to be lost. */
export interface Ruling {
  readonly lose: 'request' | 'reply';
  /** Called when it has happened. */
  readonly strike: () => void;
}

/** A loss that was decided: how often the client still hears that the server is ready, and how often it says so. */
interface Loss {
  heard: number;
  said: number;
  readonly strike: () => void;
}

type Phase = 'starting' | 'asked-for-encryption' | 'talking' | 'unseen';

/** Parse, Bind, Describe, Execute and Close: the server acts on them at the message that follows. */
const gathered = new Set(['P', 'B', 'D', 'E', 'C']);
/** Query, Sync and FunctionCall: the server ends its answer to each with one ReadyForQuery. */
const answeredByReady = new Set(['Q', 'S', 'F']);
const sync = Buffer.from([0x53, 0, 0, 0, 4]);
const encryptionRequests = new Set([80_877_103, 80_877_104]);
const nothing = Buffer.alloc(0);

/** `judge` is told the statements that the server is about to get, and may rule that they, or the reply, are lost. */
export function session(judge: (texts: readonly string[]) => Ruling | null): Filter {
  const requests = messages();
  const replies = messages();
  const textOf = statementTexts();
  let phase: Phase = 'starting';
  let unit: Buffer[] = [];
  let texts: string[] = [];
  /** How often the server has still to say that it is ready. */
  let owed = 0;
  let loss: Loss | null = null;

  const start = ({ body, bytes }: Message): Buffer => {
    phase = encryptionRequests.has(body.readInt32BE(0)) ? 'asked-for-encryption' : 'talking';
    if (phase === 'talking') owed = 1;
    return bytes;
  };

  /** What the server gets now that this message has arrived. */
  const request = (message: Message): Buffer => {
    const text = textOf(message);
    unit.push(message.bytes);
    if (text !== null) texts.push(text);
    if (gathered.has(message.type)) return nothing;
    const whole = Buffer.concat(unit);
    const ruling = judge(texts);
    const ready = answeredByReady.has(message.type);
    unit = [];
    texts = [];
    if (ruling === null) {
      if (ready) owed += 1;
      return whole;
    }
    loss = { heard: owed, said: ruling.lose === 'reply' ? owed + 1 : owed, strike: ruling.strike };
    if (ruling.lose === 'request') return nothing;
    // Without a Sync the server would neither commit nor say that it is ready, and from this client none comes.
    return ready ? whole : Buffer.concat([whole, sync]);
  };

  /** What the client gets of this message. */
  const reply = ({ type, bytes }: Message): Buffer => {
    const heard = loss === null || loss.heard > 0;
    if (type === 'Z') {
      owed -= 1;
      if (loss !== null) loss = { ...loss, heard: loss.heard - 1, said: loss.said - 1 };
    }
    return heard ? bytes : nothing;
  };

  const goOn = (onward: readonly Buffer[]): Filtered => {
    const bytes = Buffer.concat(onward);
    if (loss?.said !== 0) return { bytes };
    loss.strike();
    return { bytes, cut: true };
  };

  return {
    toServer(bytes) {
      if (phase === 'unseen') return { bytes };
      if (loss !== null) return { bytes: nothing };
      requests.add(bytes);
      const onward: Buffer[] = [];
      for (;;) {
        const message = requests.next(phase === 'starting' ? 'no-type' : 'type');
        if (message === null) return goOn(onward);
        onward.push(phase === 'starting' ? start(message) : request(message));
        if (loss !== null) return goOn(onward);
      }
    },
    toClient(bytes) {
      if (phase === 'asked-for-encryption') {
        // The answer is one letter, no message: N is a refusal, after which the client starts anew.
        phase = bytes.toString('latin1') === 'N' ? 'starting' : 'unseen';
        return { bytes };
      }
      if (phase !== 'talking') return { bytes };
      replies.add(bytes);
      const onward: Buffer[] = [];
      for (;;) {
        const message = replies.next('type');
        if (message === null) return goOn(onward);
        onward.push(reply(message));
      }
    },
  };
}
