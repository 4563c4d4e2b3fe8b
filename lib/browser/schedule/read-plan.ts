import type * as inNode from '../../schedule/read-plan.js'
import { fetchAnd, noFile } from '../no-files.js'

export const readPlan: typeof inNode.readPlan = () => noFile('readPlan', fetchAnd('parsePlan'))
