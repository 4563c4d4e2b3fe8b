/** What a statement of the thesis is, and what it is judged as. */
import type { Data } from './data.js'

export type Verdict = 'agrees' | 'differs' | 'missing'

/** What the thesis states, in few words, and how it is judged. */
export interface Statement {
  id: string
  statement: string
  where: string
  /** When it counts as agreement. */
  rule: string
  judge(data: Data): Judged
  /** Why it is so, if that is known. */
  why?: string
}

/** Whether a GPU agrees, and what was measured. */
export interface Judged {
  verdict: Verdict
  measured: string
}

export interface Claim extends Omit<Statement, 'judge'>, Judged {}

export const missing = (what: string): Judged => ({ verdict: 'missing', measured: `${what}: not measured` })
export const judge = (agrees: boolean, measured: string): Judged => ({
  verdict: agrees ? 'agrees' : 'differs',
  measured,
})
