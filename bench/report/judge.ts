/** What a statement is judged as. */

export type Verdict = 'agrees' | 'differs' | 'missing'

export interface Claim {
  id: string
  /** What the thesis states, in few words, and where. */
  statement: string
  where: string
  verdict: Verdict
  /** What was measured. */
  measured: string
  /** When it counts as agreement. */
  rule: string
  /** Why it is so, if that is known. */
  why?: string | undefined
}

export type Judged = Pick<Claim, 'verdict' | 'measured'> & { why?: string | undefined }

export const missing = (what: string): Judged => ({ verdict: 'missing', measured: `${what}: not measured` })
export const judge = (agrees: boolean, measured: string, why?: string): Judged => ({
  verdict: agrees ? 'agrees' : 'differs',
  measured,
  why,
})
