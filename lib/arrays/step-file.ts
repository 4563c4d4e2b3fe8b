/** Intermediate blocks: a line that says what the block was made from, then its elements. */
import { open } from 'node:fs/promises'
import { ChunkError, FileError, MpmmlError } from '../errors.js'
import { systemReason } from '../files/files.js'
import { readRectangle, writeRectangle, writeWhole } from './disk.js'
import type { PathsPlan } from './job.js'
import type { WorkFolder } from './work-folder.js'

const HEADER_BYTES = 128

const header = ({ id }: PathsPlan, step: number, row: number, col: number) =>
  Buffer.from(`mpmml block ${id} ${step} ${row} ${col}`.padEnd(HEADER_BYTES - 1).concat('\n'))

/** Where the bytes of a block are, in a row. */
const body = (memory: Uint8Array) => ({
  position: HEADER_BYTES,
  pitch: memory.length,
  width: memory.length,
  rows: 1,
  memory,
  memoryPitch: memory.length,
})

export async function writeStep(
  plan: PathsPlan,
  work: WorkFolder,
  step: number,
  row: number,
  col: number,
  memory: Uint8Array,
): Promise<number> {
  await writeWhole(work.step(step, row, col), work.temporary, async (file) => {
    await file.write(header(plan, step, row, col), 0, HEADER_BYTES, 0)
    // Pieces, because one call takes at most 2 GiB.
    await writeRectangle(file, body(memory))
  })
  return HEADER_BYTES + memory.length
}

/** Fills `memory`, which must be as long as the block. */
export async function readStep(
  plan: PathsPlan,
  work: WorkFolder,
  step: number,
  row: number,
  col: number,
  memory: Uint8Array,
): Promise<number> {
  const path = work.step(step, row, col)
  try {
    const file = await open(path, 'r')
    try {
      const found = Buffer.alloc(HEADER_BYTES)
      const { bytesRead } = await file.read(found, 0, HEADER_BYTES, 0)
      const { size } = await file.stat()
      if (bytesRead < HEADER_BYTES || !found.equals(header(plan, step, row, col))) {
        throw new ChunkError('it is a block of something else')
      }
      if (size !== HEADER_BYTES + memory.length) {
        throw new ChunkError(`it has ${size} bytes and not ${HEADER_BYTES + memory.length}`)
      }
      await readRectangle(file, body(memory))
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
    if (error instanceof MpmmlError) throw error
    throw new FileError(`${path} can't be read: ${systemReason(error)}`, { cause: error })
  }
}
