/** Choice between searches and closures by a test instead of by the estimate. */
type Placement = typeof import('../../lib/backend-selection.js')

/** Replacement of lib/backend-selection.js for vi.mock(). `forced.search` decides; with undefined the estimate does. */
export async function forcedSearch(
  original: () => Promise<unknown>,
  forced: { search: boolean | undefined },
): Promise<Placement> {
  const placement = (await original()) as Placement
  return {
    ...placement,
    cheapestPaths: (work) => {
      if (forced.search === undefined) return placement.cheapestPaths(work)
      return forced.search ? 'search' : 'closure'
    },
  }
}
