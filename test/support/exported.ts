/** Names of the functions that entry points of the library export, without classes. */
export const functionsOf = (...entries: object[]): string[] => [
  ...new Set(
    entries.flatMap((entry) =>
      Object.entries(entry).flatMap(([name, value]) =>
        typeof value === 'function' && !/^class\b/.test(Function.prototype.toString.call(value))
          ? [name]
          : [],
      ),
    ),
  ),
]
