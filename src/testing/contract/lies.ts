/** The ways in which a provider can break what its contract says. Each has been seen at some real one, or may be. */

export const contractLies = {
  'ignores-the-key': 'every send is another record',
  'cuts-keys': 'only the first half of a key counts',
  'forgets-early': 'half of the retention is all there is',
  'takes-late-ones': 'what comes after the retention is executed, and not refused',
  'replays-nothing': 'a second send is refused, although the first has made a record',
  'replays-another-id': 'a second send is told of a record that there is not',
  'replays-what-is-new': 'a first send is told that the reply was given before',
  'replays-in-silence': 'a second send is not told that the reply was given before',
  'doubles-at-once': 'a send while the first is under way makes another record',
  'waits-in-silence': 'a send while the first is under way is not told so',
  'refuses-in-other-words': 'a send while the first is under way is told so in words that the contract does not know',
  'does-what-conflicts': 'other parameters are refused, and make a record all the same',
  'does-other-parameters': 'other parameters make another record',
  'releases-after-refusal': 'a send after a refusal is executed',
  'repeats-after-error': 'a send after an error of its own is executed once more',
  'shows-late': 'a look-up shows a record only after twice the time',
  'shows-another': 'a look-up that finds nothing shows the last record of anybody',
} as const;

export type ContractLie = keyof typeof contractLies;
