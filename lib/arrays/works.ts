/** Where the work on an output is. */
import type { BlockPlan } from './job.js'
import { isS3 } from './names.js'
import type { Work, Works } from './work.js'
import { folderWorks } from './work-folder.js'
import { prefixWorks } from './work-prefix.js'

export const worksOf = (output: string): Works => (isS3(output) ? prefixWorks : folderWorks)

export const openWork = ({ output, id }: BlockPlan): Work => worksOf(output.path).open(output.path, id)
