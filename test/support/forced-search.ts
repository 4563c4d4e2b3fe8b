/** Paths by searches or by closures as a test says, and not by what they are estimated to take. */
type Placement = typeof import('../../lib/backend-selection.js')

/** What stands in the place of lib/backend-selection.js: `forced.search` says it; undefined: the estimate does. For vi.mock(). */
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
