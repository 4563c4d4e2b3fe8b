/** Where the work on an output is. */

import { BucketStorage } from './bucket-storage.js'
import type { BlockPlan } from './job.js'
import { isS3 } from './names.js'
import type { Work, Works } from './work.js'
import { folderWorks } from './work-folder.js'
import { PrefixWorks } from './work-prefix.js'

/** @param signal - ends the requests to a bucket */
export const worksOf = (output: string, signal?: AbortSignal): Works =>
  isS3(output) ? new PrefixWorks(new BucketStorage(signal)) : folderWorks

export const openWork = ({ output, id }: BlockPlan, signal?: AbortSignal): Work =>
  worksOf(output.path, signal).open(output.path, id)
