/** Statements of publications, and verdicts on them by a GPU's measurements. */
import type { Data } from './data.js'

/** `elsewhere`: the statement is about another GPU than the measured one. */
export type ClaimStatus = 'agrees' | 'differs' | 'elsewhere' | 'missing'

/** Short statement with the rule that judges it. */
export interface Statement {
  id: string
  statement: string
  where: string
  /** Publication; the thesis by default. */
  source?: string
  /** Condition of agreement. */
  rule: string
  judge(data: Data): ClaimResult
  /** Reason for the measured behaviour, if it is known. */
  why?: string
}

/** Verdict on a statement, and the measured values. */
export interface ClaimResult {
  verdict: ClaimStatus
  measured: string
}

export interface PaperClaim extends Omit<Statement, 'judge'>, ClaimResult {}

export const missing = (what: string): ClaimResult => ({
  verdict: 'missing',
  measured: `${what}: not measured`,
})
export const elsewhere = (measured: string): ClaimResult => ({ verdict: 'elsewhere', measured })
export const judge = (agrees: boolean, measured: string): ClaimResult => ({
  verdict: agrees ? 'agrees' : 'differs',
  measured,
})

/** Bounds of a speed or a share. */
export interface Band {
  least: number
  most: number
}

/** Returns whether `value` lies in the band, widened by `tolerance` as a fraction of each bound. */
export const within = (value: number, { least, most }: Band, tolerance = 0): boolean =>
  value >= least * (1 - tolerance) && value <= most * (1 + tolerance)
