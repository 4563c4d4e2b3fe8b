/** Files of intermediate blocks: a line that identifies the plan and the block, then the elements. */
import { ChunkError } from '../errors.js'
import { readError } from '../files/files.js'
import type { PathsPlan } from './job.js'
import type { Journal } from './journal.js'
import { asRow, fileGone, rowAt } from './store.js'

const HEADER_BYTES = 128

const header = ({ id }: PathsPlan, step: number, row: number, col: number) =>
  Buffer.from(`mpmml block ${id} ${step} ${row} ${col}`.padEnd(HEADER_BYTES - 1).concat('\n'))

export async function writeStep(
  plan: PathsPlan,
  journal: Journal,
  step: number,
  row: number,
  col: number,
  memory: Uint8Array,
): Promise<number> {
  const path = journal.step(step, row, col)
  await journal.store.write(path, journal.temporary, [asRow(header(plan, step, row, col)), asRow(memory)])
  return HEADER_BYTES + memory.length
}

/** Reads an intermediate block into `memory`, whose size must be that of the block. */
export async function readStep(
  plan: PathsPlan,
  journal: Journal,
  step: number,
  row: number,
  col: number,
  memory: Uint8Array,
): Promise<number> {
  const path = journal.step(step, row, col)
  try {
    const file = await journal.store.open(path, null)
    if (!file) throw fileGone(path)
    try {
      const found = Buffer.alloc(HEADER_BYTES)
      const { size } = file
      if (size >= HEADER_BYTES) await file.read(rowAt(0, found))
      if (!found.equals(header(plan, step, row, col))) {
        throw new ChunkError('it is a block of something else')
      }
      if (size !== HEADER_BYTES + memory.length) {
        throw new ChunkError(`it has ${size} bytes and not ${HEADER_BYTES + memory.length}`)
      }
      await file.read(rowAt(HEADER_BYTES, memory))
      return HEADER_BYTES + memory.length
    } finally {
      await file.close()
    }
  } catch (error) {
    if (error instanceof ChunkError) {
      throw new ChunkError(`${path} is damaged: ${error.message}. Begin again with overwrite`, {
        cause: error,
      })
    }
    throw readError(path, error)
  }
}
