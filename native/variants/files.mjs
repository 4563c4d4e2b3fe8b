// Assigns the rows of the table to source files. One file per row would be simpler, but the compiler would
// spend most of the time on headers, and on the packing kernels that rows of one semiring and type share.

/**
 * Returns the list of sources that a row belongs to. The laboratory's kernels are compiled for fewer
 * architectures than the others, and an addon may be linked without them.
 */
export const listOf = ({ family, automatic }) =>
  family.list ?? (family.backend === 'cuda' && !automatic ? 'lab' : family.backend)

/**
 * Returns the rows by source file, as { list, file, isa, rows }, with at most `together` rows of a family in
 * each. GPU kernels that products take have separate files for each semiring and type, because if there is
 * only PTX, the driver compiles a whole file when its first kernel is used. `typesTogether` is for families
 * whose kernels compile quickly.
 */
export function sourceFiles(rows) {
  const groups = new Map()
  for (const row of rows) {
    const { family, isa, semiring, dataType } = row
    const parts = ['cuda', 'hopper'].includes(listOf(row)) ? [semiring.name.replaceAll('-', '')] : []
    if (parts.length > 0 && !family.typesTogether) parts.push(dataType.short)
    const key = [family.name, listOf(row), ...parts, ...(isa ? [isa.name] : [])].join('_')
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  return [...groups].flatMap(([key, group]) => {
    const { family, isa } = group[0]
    const list = listOf(group[0])
    const size = Math.ceil(group.length / Math.ceil(group.length / (family.together ?? 1)))
    return Array.from({ length: Math.ceil(group.length / size) }, (_, part) => ({
      list,
      file: `${key}_${part + 1}.${list === 'cpu' ? 'cpp' : 'cu'}`,
      isa,
      rows: group.slice(part * size, (part + 1) * size),
    }))
  })
}
