/** Advice for texts that stand for numbers in spreadsheets and aren't written as numbers. */

const kinds: readonly [RegExp, string][] = [
  [/^[-+−]?\d{1,3}([.,'’ \u00a0\u202f]\d{3})+([.,]\d+)?$/, 'write it without thousands separators'],
  [/^[-+−]?\d*,\d+$/, 'write a decimal point, or separate the cells by semicolons or tabs'],
  [/%$/, 'write it as a fraction, without %'],
  [/^−/, 'write - in place of −'],
  [/^["']/, 'write it without quotation marks'],
  [/^[-+]?0x[\da-f]+$/i, 'write it in decimal'],
  [/^\d+(_\d+)+$/, 'write it without underscores'],
  [/^\d+(:\d+)+$/, 'write a time as one number, such as minutes'],
  [/^(na|n\/a|nan|null|none|nil|-|\?)$/i, 'leave out the line, or write a number'],
  [/^\p{Sc}|\p{Sc}$|^[-+]?[\d.,]+\s*\p{L}+$/u, 'write it without its unit'],
]

/** Returns the advice as the end of a message; '' if there is none. `word` must be short. */
export function adviceFor(word: string): string {
  const advice = kinds.find(([kind]) => kind.test(word))?.[1]
  return advice === undefined ? '' : `: ${advice}`
}
