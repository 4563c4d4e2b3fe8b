/** Fields of the flat arrays that native code reads and writes. */
import { AddonError } from './errors.js'
import type { Layout } from './layout.js'
import { addon, buildAgain } from './native.js'
import { copyFields, memberFields, reportFields, requestFields } from './native-interface.js'

export { auxiliaryResults, copyAt, memberAt, reportAt, requestAt } from './native-interface.js'

for (const [known, exported] of [
  [requestFields, addon.requestFields],
  [memberFields, addon.memberFields],
  [reportFields, addon.reportFields],
  [copyFields, addon.copyFields],
]) {
  if (known!.join() === exported!.join()) continue
  throw new AddonError(
    `the native addon has other fields than lib: it is of another version; run: ${buildAgain()}`,
  )
}

export const REQUEST_FIELDS = requestFields.length
export const MEMBER_FIELDS = memberFields.length
export const REPORT_FIELDS = reportFields.length
export const COPY_FIELDS = copyFields.length

/** Writes the layout of a matrix into `request`, whose fields begin at `start`. */
export function writeLayout(
  request: Float64Array,
  start: number,
  at: Readonly<Record<keyof Layout, number>>,
  layout: Layout,
): void {
  request[start + at.offset] = layout.offset
  request[start + at.rowStride] = layout.rowStride
  request[start + at.colStride] = layout.colStride
  request[start + at.batchStride] = layout.batchStride
}
