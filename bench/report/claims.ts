/** Judges statements of the thesis and of other publications by a GPU's measurements. */
import type { Data } from './data.js'
import type { PaperClaim, Statement } from './judge.js'
import { kernelStatements, largeMatrices } from './kernel-claims.js'
import { microbenchStatements } from './microbench-claims.js'
import { otherStatements } from './other-claims.js'

const judged = (statements: readonly Statement[], data: Data): PaperClaim[] =>
  statements.map(({ judge, why, ...statement }) => {
    const verdict = judge(data)
    const explained = verdict.verdict !== 'missing' && why !== undefined
    return { ...statement, ...verdict, ...(explained ? { why } : {}) }
  })

/** Returns the thesis' statements with verdicts. */
export const claimsOf = (data: Data): PaperClaim[] =>
  judged([largeMatrices, ...microbenchStatements, ...kernelStatements], data)

/** Returns statements of other publications about the ladder and the roofline, if they were measured. */
export const otherClaimsOf = (data: Data): PaperClaim[] =>
  judged(otherStatements, data).filter(({ verdict }) => verdict !== 'missing')

/**
 * Returns a predicate about a GPU: "agrees with 9 and differs from 4; 3 can’t be judged on it, 0 not
 * measured".
 */
export function verdictCounts(claims: readonly PaperClaim[]): string {
  const count = (verdict: PaperClaim['verdict']) => claims.filter((claim) => claim.verdict === verdict).length
  return (
    `agrees with ${count('agrees')} and differs from ${count('differs')}; ` +
    `${count('elsewhere')} can’t be judged on it, ${count('missing')} not measured`
  )
}
