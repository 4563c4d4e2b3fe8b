/** The thesis' statements, and whether a GPU's measurements agree. Each says by which rule that is judged. */
import type { Data } from './data.js'
import type { Claim } from './judge.js'
import { kernelStatements, largeMatrices } from './kernel-claims.js'
import { microbenchStatements } from './microbench-claims.js'

export const claimsOf = (data: Data): Claim[] =>
  [largeMatrices, ...microbenchStatements, ...kernelStatements].map(({ judge, why, ...statement }) => {
    const judged = judge(data)
    const explained = judged.verdict !== 'missing' && why !== undefined
    return { ...statement, ...judged, ...(explained ? { why } : {}) }
  })
