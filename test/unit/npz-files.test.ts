/** .npz archives: known values are read, written, and rejected. The fixtures were made by NumPy 2.4. */
import { readFileSync } from 'node:fs'
import { deflateRawSync, crc32 as systemCrc32 } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { tableCrc32 } from '../../lib/files/npz.js'
import { formatNpy, npzNames, readMatrix, readNpz, writeMatrix, writeNpz } from '../../lib/files.js'
import { matrix } from '../../lib/index.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'
import { shown, temporaryFiles } from '../support/matrix-files.js'

const { file, fresh } = temporaryFiles()

describe('.npz', () => {
  /** numpy.savez(a=int32 [[1, 2], [3, 4]], b=float64 [[.5, 1.5]]) */
  const stored = Buffer.from(
    'UEsDBC0AAAAAAAAAIQB7yGF8//////////8FABQAYS5ucHkBABAAkAAAAAAAAACQAAAAAAAAAJNOVU1QWQEAdgB7J2Rlc2NyJzogJzxpNCcsICdmb3J0cmFuX29yZGVyJzogRmFsc2UsICdzaGFwZSc6ICgyLCAyKSwgfSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAKAQAAAAIAAAADAAAABAAAAFBLAwQtAAAAAAAAACEAUZ2vu///////////BQAUAGIubnB5AQAQAJAAAAAAAAAAkAAAAAAAAACTTlVNUFkBAHYAeydkZXNjcic6ICc8ZjgnLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMSwgMiksIH0gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgCgAAAAAAAOA/AAAAAAAA+D9QSwECLQMtAAAAAAAAACEAe8hhfJAAAACQAAAABQAAAAAAAAAAAAAAgAEAAAAAYS5ucHlQSwECLQMtAAAAAAAAACEAUZ2vu5AAAACQAAAABQAAAAAAAAAAAAAAgAHHAAAAYi5ucHlQSwUGAAAAAAIAAgBmAAAAjgEAAAAA',
    'base64',
  )
  /** numpy.savez_compressed(a=big-endian int64, f=float32 in Fortran order, bits=bool) */
  const compressed = Buffer.from(
    'UEsDBC0AAAAIAAAAIQAyq7+a//////////8FABQAYS5ucHkBABAAoAAAAAAAAABSAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loG6XaaGuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GkY6CkaaOgq1CmQDLgYIYITSTFCaGUqzAABQSwMELQAAAAgAAAAhALJn3SP//////////wUAFABmLm5weQEAEACYAAAAAAAAAFcAAAAAAAAAm+wX6hsQychQxlCtnpJanFykbqWgbpNmoq6joJ6WX1RSlJgXn1+UkgoSDykqTQUKF2ckFqQCuRpGOgrGmjoKtQrkAy4GhgZ7IHZgYGAA4gVA7ADEBxwAUEsDBC0AAAAIAAAAIQAQGToZ//////////8IABQAYml0cy5ucHkBABAAggAAAAAAAABIAAAAAAAAAJvsF+obEMnIUMZQrZ6SWpxcpG6loF6TZKiuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GoY6CkaaOgq1CmQDLkYGAFBLAQItAy0AAAAIAAAAIQAyq7+aUgAAAKAAAAAFAAAAAAAAAAAAAACAAQAAAABhLm5weVBLAQItAy0AAAAIAAAAIQCyZ90jVwAAAJgAAAAFAAAAAAAAAAAAAACAAYkAAABmLm5weVBLAQItAy0AAAAIAAAAIQAQGToZSAAAAIIAAAAIAAAAAAAAAAAAAACAARcBAABiaXRzLm5weVBLBQYAAAAAAwADAJwAAACZAQAAAAA=',
    'base64',
  )

  it("reads NumPy's, stored and compressed", async () => {
    const { a, b } = await readNpz(file('.npz', stored))
    expect([shown(a!), shown(b!)]).toEqual([
      {
        type: 'Int32Array',
        rows: [
          [1, 2],
          [3, 4],
        ],
      },
      { type: 'Float64Array', rows: [[0.5, 1.5]] },
    ])
    const all = await readNpz(file('.npz', compressed))
    expect(Object.entries(all).map(([name, found]) => [name, shown(found)])).toEqual([
      [
        'a',
        {
          type: 'Int32Array',
          rows: [
            [1, 2],
            [3, 4],
          ],
        },
      ],
      [
        'f',
        {
          type: 'Float32Array',
          rows: [
            [1, 2, 3],
            [4, 5, 6],
          ],
        },
      ],
      ['bits', { type: 'Uint8Array', rows: [[1, 0]] }],
    ])
    expect(await npzNames(file('.npz', compressed))).toEqual(['a', 'f', 'bits'])
  })

  it('reads one of several arrays by its name', async () => {
    const path = file('.npz', compressed)
    expect(shown(await readMatrix(path, { array: 'bits' })).rows).toEqual([[1, 0]])
    expect(Object.keys(await readNpz(path, { arrays: ['f'] }))).toEqual(['f'])
    expect((await readMatrix(path, { array: 'a', dtype: 'uint8' })).data).toEqual(Uint8Array.of(1, 2, 3, 4))
    await expect(readMatrix(path)).rejects.toEqual(coded('FILE', "FILE.npz:NAME: 'a', 'f' or 'bits'"))
    await expect(readMatrix(path, { array: 'x' })).rejects.toEqual(
      coded('FILE', "there is no array 'x': it has 'a', 'f' or 'bits'"),
    )
    await expect(readMatrix(file('.mtx', ''), { array: 'x' })).rejects.toEqual(
      coded('OPTION', 'in a .npz file'),
    )
  })

  it('writes the same file for the same arrays', async () => {
    const [one, two] = [fresh('.npz'), fresh('.npz')]
    for (const path of [one, two]) await writeMatrix(path, matrix(2, 2), { array: 'a' })
    expect(readFileSync(one)).toEqual(readFileSync(two))
  })

  it.each(['', '/etc/passwd', 'a\\b', '../a', 'a\nb'])('rejects the name %j', async (name) => {
    await expect(writeNpz(fresh('.npz'), { [name]: matrix(1, 1) })).rejects.toEqual(
      coded('OPTION', 'the name of an array'),
    )
  })

  /** Archive of one file, whose central directory may be wrong. */
  function archive(
    name: string,
    content: Uint8Array,
    lies: { method?: number; size?: number; crc?: number; flags?: number; twice?: boolean } = {},
  ): Buffer {
    const method = lies.method ?? 8
    const packed = method === 8 ? deflateRawSync(content) : Buffer.from(content)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt16LE(lies.flags ?? 0, 2)
    fields.writeUInt16LE(method, 4)
    fields.writeUInt32LE(lies.crc ?? tableCrc32(content, 0), 10)
    fields.writeUInt32LE(packed.length, 14)
    fields.writeUInt32LE(lies.size ?? content.length, 18)
    fields.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), packed])
    const central = (named: string) => {
      const head = Buffer.alloc(46)
      head.write('PK\x01\x02')
      fields.copy(head, 6)
      return Buffer.concat([head, Buffer.from(named)])
    }
    const directory = Buffer.concat(
      lies.twice ? [central(name), central(`b${name.slice(1)}`)] : [central(name)],
    )
    const end = Buffer.alloc(22)
    end.write('PK\x05\x06')
    end.writeUInt16LE(lies.twice ? 2 : 1, 8)
    end.writeUInt16LE(lies.twice ? 2 : 1, 10)
    end.writeUInt32LE(directory.length, 12)
    end.writeUInt32LE(local.length, 16)
    return Buffer.concat([local, directory, end])
  }

  const npy = Buffer.from(formatNpy(matrix(2, 2, [1, 2, 3, 4])))

  it('reads an archive made by hand', async () => {
    expect((await readMatrix(file('.npz', archive('a.npy', npy)))).data).toEqual(Int32Array.of(1, 2, 3, 4))
    expect((await readMatrix(file('.npz', archive('a.npy', npy, { method: 0 })))).data[3]).toBe(4)
  })

  const claiming = (shape: string) =>
    Buffer.from(
      `\x93NUMPY\x01\x00\x76\x00${`{'descr': '<i4', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(117)}\n`,
      'latin1',
    )

  it.each<[string, Buffer, string | RegExp]>([
    ['no archive', Buffer.from('PK and so on'), 'it is no .npz file'],
    ['nothing', Buffer.alloc(0), 'it is no .npz file'],
    ['no array', archive('readme.txt', npy), /expected one array, but the file has 0/],
    ['a wrong checksum', archive('a.npy', npy, { crc: 1 }), 'its checksum is another one'],
    [
      'more bytes than it says',
      archive('a.npy', npy, { size: npy.length - 4 }),
      /too many bytes|truncated|trailing/,
    ],
    [
      'fewer bytes than it says',
      archive('a.npy', npy, { size: npy.length + 4 }),
      /not enough bytes|trailing/,
    ],
    [
      "a size that deflate can't make",
      archive('a.npy', npy, { size: 4_000_000_000 }),
      'more than deflate can make',
    ],
    ['another method', archive('a.npy', npy, { method: 12 }), 'method 12'],
    ['encryption', archive('a.npy', npy, { flags: 1 }), 'encrypted'],
    [
      '10^12 × 10^12 elements',
      archive('a.npy', claiming('(1000000000000, 1000000000000)')),
      'dimensions of 0',
    ],
    ['a negative size', archive('a.npy', claiming('(-1, 2)')), 'dimensions of 0'],
    ['more elements than bytes', archive('a.npy', claiming('(46340, 46340)')), 'it is truncated'],
    ['a number', archive('a.npy', claiming('()')), 'a.reshape(1, 1)'],
    ['no header', archive('a.npy', Buffer.from('\x93NUM', 'latin1')), 'expected a NumPy .npy file'],
    ['half a header', archive('a.npy', claiming('(1, 1)').subarray(0, 60)), 'ends within its header'],
    ['an empty array file', archive('a.npy', Buffer.alloc(0), { method: 0 }), 'it is empty'],
  ])('rejects %s', async (_, bytes, message) => {
    await expect(readMatrix(file('.npz', bytes))).rejects.toEqual(coded('FILE', message))
  })

  it.each([
    ['the directory, which no number holds', 0x0fffffff_ffffff00n],
    ['the directory, which a number holds', 1n << 52n],
  ])('rejects an offset of %s beyond the end of the file', async (_, place) => {
    const whole = archive('a.npy', npy)
    const [front, end] = [whole.subarray(0, -22), whole.subarray(-22)]
    const locator = Buffer.alloc(20)
    locator.writeUInt32LE(0x07064b50, 0)
    locator.writeBigUInt64LE(place, 8)
    const far = file('.npz', Buffer.concat([front, locator, end]))
    await expect(readMatrix(far)).rejects.toEqual(coded('FILE', 'it is no .npz file, or a damaged one'))
    const directory = Buffer.alloc(56)
    directory.writeUInt32LE(0x06064b50, 0)
    directory.writeBigUInt64LE(1n, 32)
    directory.writeBigUInt64LE(place, 48)
    locator.writeBigUInt64LE(BigInt(front.length), 8)
    const lying = file('.npz', Buffer.concat([front, directory, locator, end]))
    await expect(npzNames(lying)).rejects.toEqual(coded('FILE', 'it is no .npz file, or a damaged one'))
  })

  it('rejects overlapping entries, because a small file would expand to many large arrays', async () => {
    const content = Buffer.from(formatNpy(matrix(100, 100)))
    const path = file('.npz', archive('a.npy', content, { method: 0, twice: true }))
    await expect(readNpz(path)).rejects.toEqual(coded('FILE', 'the file is damaged'))
    expect(Object.keys(await readNpz(path, { arrays: ['a', 'a'] }))).toEqual(['a'])
  })

  it('rejects a file truncated at any byte', async () => {
    for (let length = 0; length < stored.length; length++) {
      await expect(readNpz(file('.npz', stored.subarray(0, length)))).rejects.toMatchObject({
        code: 'ERR_MPMML_FILE',
      })
    }
  })

  it('rejects a changed byte or returns the same numbers', async () => {
    const random = new Random(8)
    let rejected = 0
    for (let round = 0; round < 300; round++) {
      const bytes = Buffer.from(compressed)
      bytes[random.integer(0, bytes.length - 1)]! ^= 1 << random.integer(0, 7)
      const found = await readNpz(file('.npz', bytes), { arrays: ['a'] }).catch((error) => error)
      if (found instanceof Error) {
        expect(found).toMatchObject({ code: 'ERR_MPMML_FILE' })
        rejected++
      } else expect([...found.a.data]).toEqual([1, 2, 3, 4])
    }
    expect(rejected).toBeGreaterThan(30)
  })

  it('uses the checksum of zip archives', () => {
    expect(tableCrc32(Buffer.from('123456789'), 0)).toBe(0xcbf43926)
    expect(tableCrc32(Buffer.from('56789'), tableCrc32(Buffer.from('1234'), 0))).toBe(0xcbf43926)
    expect(systemCrc32?.('123456789') ?? 0xcbf43926).toBe(0xcbf43926)
  })
})
