/** The thesis' statements, and whether a GPU's measurements agree. Each says by which rule that is judged. */
import type { Data } from './data.js'
import type { Claim, Judged } from './judge.js'
import {
  case11Least,
  instancesNearLarge,
  largeMatrices,
  otherCases,
  patternsAt1K,
  patternsClose,
  transposeSlower,
} from './kernel-claims.js'
import {
  bankConflicts,
  bothClose,
  formsOfMaximum,
  occupancies,
  oneAtHalf,
  ordering,
} from './microbench-claims.js'

/** A statement by its identity, and the function that judges it. */
const statements: [Omit<Claim, 'verdict' | 'measured' | 'why'>, (data: Data) => Judged][] = [
  [
    {
      id: 'large',
      statement: 'MPMML reaches 3065 to 3631 GOPS for large matrices on GTX 980, Titan X and GTX 1080 Ti',
      where: 'abstract, chapter 5',
      rule: 'the best kernel of the family reaches at least 3065 GOPS from 4K on',
    },
    largeMatrices,
  ],
  [
    {
      id: 'occupancy',
      statement:
        'With blocks of 1024 threads, X × Y = 4 × 4 takes 32 registers (100 % occupancy) and 4 × 6 takes 40 (50 %)',
      where: 'Table 2.1',
      rule: 'the same percentages',
    },
    occupancies,
  ],
  [
    {
      id: 'maximum',
      statement: 'The maximum as a macro and as max() makes no difference',
      where: 'section 2.1',
      rule: 'within 3 %',
    },
    formsOfMaximum,
  ],
  [
    {
      id: 'ordering',
      statement: 'Reg-reg is the fastest of the three microbenchmarks',
      where: 'Figure 2.1',
      rule: 'the best of each',
    },
    ordering,
  ],
  [
    {
      id: 'one',
      statement: 'One operand in shared memory reaches about half of reg-reg',
      where: 'Figure 2.1',
      rule: '40 to 60 % at K = 1, one read for each use in an iteration',
    },
    oneAtHalf,
  ],
  [
    {
      id: 'both',
      statement: 'Both operands in shared memory come very close to reg-reg',
      where: 'Figure 2.1',
      rule: 'at least 85 % at K = 1',
    },
    bothClose,
  ],
  [
    {
      id: 'banks',
      statement: 'Bank conflicts play no part',
      where: 'section 2.3',
      rule: 'M = 32 columns reach at least 95 % of M = 33',
    },
    bankConflicts,
  ],
  [
    {
      id: 'cases',
      statement: 'Cases 01, 10 and 11 perform very poorly; case 00 is clearly the fastest',
      where: 'Figure 4.1',
      rule: 'each below two thirds of case 00 at the largest size',
    },
    otherCases,
  ],
  [
    {
      id: 'case11',
      statement: 'Case 11 is predictably the slowest',
      where: 'section 3.1',
      rule: 'the slowest at the largest size',
    },
    case11Least,
  ],
  [
    {
      id: 'patterns',
      statement: 'The patterns perform very close to each other above 1K',
      where: 'Figures 4.2 to 4.4',
      rule: 'within 10 % at every size above 1K',
    },
    patternsClose,
  ],
  [
    {
      id: 'patterns1k',
      statement: 'At 1K the patterns differ, on each GPU in another way',
      where: 'Figures 4.2 to 4.4',
      rule: 'more than 2 % apart at 1K',
    },
    patternsAt1K,
  ],
  [
    {
      id: 'transpose',
      statement: 'Transposing A makes MPMML significantly slower',
      where: 'Figure 4.5',
      rule: 'below 95 % of the speed without, at 10K',
    },
    transposeSlower,
  ],
  [
    {
      id: 'instances',
      statement:
        '20 instances of 1K come close to one large product: 2175 to 2798 GOPS on Maxwell, 3090 on Pascal',
      where: 'Figure 4.6',
      rule: 'at least 70 % of one large product, as the thesis’ own numbers',
    },
    instancesNearLarge,
  ],
]

export const claimsOf = (data: Data): Claim[] =>
  statements.map(([statement, decide]) => ({ ...statement, ...decide(data) }))
