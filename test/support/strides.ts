/** Strides of views. */

/**
 * Returns whether each stride of the views is larger than the extent of all smaller strides. Strides that the
 * views share count once.
 */
export function nests(views: readonly { shape: readonly number[]; strides: readonly number[] }[]): boolean {
  const reaches = new Map<number, number>()
  for (const { shape, strides } of views) {
    const moving = strides.filter((_, at) => shape[at]! > 1)
    if (new Set(moving).size < moving.length) return false
    strides.forEach((stride, at) => {
      if (shape[at]! > 1) reaches.set(stride, Math.max(reaches.get(stride) ?? 0, shape[at]! - 1))
    })
  }
  let span = 0
  for (const [stride, most] of [...reaches].sort(([one], [other]) => one - other)) {
    if (stride <= span) return false
    span += stride * most
  }
  return true
}
