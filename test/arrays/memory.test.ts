/** Array names, block sizes and memory limits of out-of-core work. Expected values are computed by hand. */
import { describe, expect, it } from 'vitest'
import { type BlockTypes, blockSize, hostBytes } from '../../lib/arrays/block-size.js'
import {
  formatAddress,
  groupsOf,
  isAddress,
  isNpy,
  isS3,
  isZarr,
  parseAddress,
} from '../../lib/arrays/names.js'
import { Pool } from '../../lib/arrays/pool.js'
import { coded } from '../support/coded.js'

describe('names of arrays', () => {
  it.each<[string, boolean, boolean]>([
    ['a.npy', true, false],
    ['A.NPY', true, false],
    ['a.npy.zarr', false, true],
    ['a.zarr', false, true],
    ['A.Zarr/group/array', false, true],
    ['a.zarr\\group', false, true],
    ['a.zarr/b.npy', true, false],
    ['a.zarrs', false, false],
    ['anpy', false, false],
    ['a.npyx', false, false],
    ['a.npz', false, false],
  ])('state the format of %s', (name, npy, zarr) => {
    expect([isNpy(name), isZarr(name)]).toEqual([npy, zarr])
  })

  it('state the groups of an array, the outermost first', () => {
    expect(groupsOf('/data/s.zarr/one/two/')).toEqual(['/data/s.zarr', '/data/s.zarr/one'])
    expect(groupsOf('s.zarr')).toEqual([])
  })

  it('are recognized as URLs of buckets', () => {
    expect([isS3('s3://bucket/a'), isS3('S3://bucket'), isS3('/s3://bucket'), isS3('s3:/bucket')]).toEqual([
      true,
      true,
      false,
      false,
    ])
    expect(parseAddress('s3://bucket//a/b.zarr/')).toEqual({ bucket: 'bucket', key: 'a/b.zarr' })
    expect(formatAddress({ bucket: 'bucket', key: '' })).toBe('s3://bucket')
    expect([isAddress('s3://bucket/a'), isAddress('s3://bucket/a/'), isAddress('a')]).toEqual([
      true,
      false,
      false,
    ])
    for (const path of ['s3://b/x', 's3://bucket/a/../b', 's3://bucket/a//b', 's3:bucket'])
      expect(() => parseAddress(path)).toThrow(coded('FILE'))
  })
})

describe('the size of blocks', () => {
  const ints: BlockTypes = { operand: 'int32', result: 'int32' }

  it.each<[BlockTypes, number]>([
    // An element counts 6 operands: 4 on the device and 2 read ahead. It counts 4 results: 2 on the device
    // and 2 being written. 4 packed elements of at least 4 bytes and 8 bytes are added.
    [ints, 6 * 4 + 4 * 4 + 4 * 4 + 8],
    [{ operand: 'int16', result: 'int32' }, 6 * 2 + 4 * 4 + 4 * 4 + 8],
    [{ operand: 'float64', result: 'float64' }, 6 * 8 + 4 * 8 + 4 * 8 + 8],
    [{ operand: 'int16', result: 'float64' }, 6 * 2 + 4 * 8 + 4 * 8 + 8],
  ])('counts the memory per element of %j', (types, bytes) => {
    expect(hostBytes(100, types)).toBe(100 * 100 * bytes)
  })

  it.each<[string, number[], number]>([
    ['as memory allows', [64e6, 5000, 20, 0], 1000],
    ['one unit less if a byte is missing', [64e6 - 1, 5000, 20, 0], 980],
    ['one unit less if other memory is taken', [64e6, 5000, 20, 1], 980],
    ['no more than the array', [64e9, 500, 20, 0], 500],
    ['whole units', [64e9, 500, 300, 0], 300],
    ['a unit that covers a small array', [64e9, 100, 300, 0], 300],
    ['no more than 8192', [64e12, 1e6, 1000, 0], 8000],
  ])('equals %s', (_, [memory, length, unit, other], expected) => {
    expect(blockSize(memory!, length!, unit!, other!, ints)).toBe(expected)
  })

  it('rejects memory that is too small for any block, and states the least amount', () => {
    expect(blockSize(17_384, 100, 16, 1000, ints)).toBe(16)
    expect(() => blockSize(17_383, 100, 16, 1000, ints)).toThrow(
      coded('OPTION', 'at least 17 KiB for blocks of 16 × 16'),
    )
  })
})

describe('a pool', () => {
  it('creates resources on first use, and serves waiting requests in their order', async () => {
    const names = ['a', 'b']
    const pool = new Pool(2, () => names.shift()!)
    const first = await pool.take()
    expect([first, names]).toEqual(['a', ['b']])
    const taken = [first, await pool.take()]
    const got: string[] = []
    const waiting = [1, 2].map(async (number) => void got.push(`${number}${await pool.take()}`))
    pool.give('c')
    pool.give('d')
    await Promise.all(waiting)
    pool.give('e')
    expect([taken, got, await pool.take()]).toEqual([['a', 'b'], ['1c', '2d'], 'e'])
  })
})
