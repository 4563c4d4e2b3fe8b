/** Commands multiply and paths with arrays on disk. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Plain, readZarr, writeByHand } from '../support/arrays.js'
import { useFolder } from '../support/folder.js'
import { randomMatrix } from '../support/generators.js'
import { inTime } from '../support/in-time.js'
import { oracle, type Strided } from '../support/oracle.js'
import { download } from '../support/s3-arrays.js'
import { S3Server } from '../support/s3-server.js'
import { fails, interrupted, readNumbers, root, runProgram, succeeds, writeNumbers } from './support.js'

const path = useFolder()

const a = randomMatrix(90, 70, 1) as Strided & Plain
const b = randomMatrix(70, 80, 2) as Strided & Plain
const product = oracle(a, b)

function inputs(): string[] {
  const [zarr, npy] = [path('a.zarr'), path('b.npy')]
  if (!existsSync(zarr)) {
    writeByHand(zarr, a, { chunks: [16, 16], shards: [48, 32], gzip: true })
    writeNumbers(npy, [70, 80], Array.from(b.data))
  }
  return [zarr, npy]
}

const cpu = ['--backend', 'cpu']

it('multiplies, and prints a summary', async () => {
  const out = path('c.zarr')
  const args = [
    'multiply',
    ...inputs(),
    '-o',
    out,
    '--memory',
    '4MiB',
    '--chunks',
    '8x16',
    '--shards',
    '16x32',
    '--codec',
    'zstd',
    ...cpu,
  ]
  const record = JSON.parse(await succeeds([...args, '--json']))
  expect(record).toMatchObject({
    path: out,
    shape: [90, 80],
    dtype: 'int32',
    semiring: 'max-plus',
    backend: 'cpu',
    resumed: 0,
  })
  expect(record.peakBytes).toBeLessThanOrEqual(4 * 2 ** 20)
  const { chunk_grid, codecs } = JSON.parse(readFileSync(`${out}/zarr.json`, 'utf8'))
  const shard = chunk_grid.configuration.chunk_shape
  expect([shard, codecs[0].configuration.chunk_shape]).toEqual([
    [16, 32],
    [8, 16],
  ])
  expect((await readZarr(out)).data).toEqual(product.overflow ? null : product.data)
  expect(await fails(args, 1)).toMatch(/replace it with --overwrite \[ERR_MPMML_EXISTS\]$/m)
  expect(JSON.parse(await succeeds([...args, '--resume', '--json']))).toMatchObject({
    resumed: record.blocks,
    bytesRead: 0,
  })
  const text = await succeeds([...args, '--overwrite'])
  for (const part of [out, '90 × 80', 'max-plus on int32', 'waited', 'memory']) expect(text).toContain(part)
})

it('finds paths', async () => {
  const none = 2 ** 31 - 1
  writeNumbers(path('w.npy'), [3, 3], [none, 4, 9, none, none, -1, none, none, none])
  await succeeds(['paths', path('w.npy'), '-o', path('d.zarr'), ...cpu])
  expect(Array.from((await readZarr(path('d.zarr'))).data)).toEqual([0, 4, 3, none, 0, -1, none, none, 0])
})

it("reports wrong usage without an output, and with options that arrays don't have", async () => {
  const files = inputs()
  expect(await fails(['multiply', ...files], 2)).toContain('-o')
  const out = ['-o', path('x.zarr')]
  for (const option of [
    ['--verify'],
    ['--accumulate', files[1]!],
    ['--dtype', 'int32'],
    ['--variant', 'x'],
  ]) {
    expect(await fails(['multiply', ...files, ...out, ...option], 2)).toContain(`${option[0]} is not for`)
  }
  expect(await fails(['paths', files[0]!, ...out, '--from', '1'], 2)).toContain('--from is not for')
  for (const option of [
    ['--memory', 'much'],
    ['--chunks', '3'],
    ['--codec', 'lzma'],
  ]) {
    expect(await fails(['multiply', ...files, ...out, ...option], 2)).toContain(option[0])
  }
  expect(await fails(['multiply', ...files, ...out, '--resume', '--overwrite'], 1)).toContain(
    'options --resume and --overwrite contradict',
  )
})

describe('an existing .npy output', () => {
  const files = () => [inputs()[1]!, writeNumbers(path('turned.npy'), [80, 70], Array.from(transposed.data))]
  const transposed = randomMatrix(80, 70, 3) as Strided & Plain
  const onDisk = [[], ['--memory', '4MiB'], ['--overwrite']]

  it.each(onDisk)('is replaced, in memory and on disk: %j', async (...flags) => {
    const out = writeNumbers(path('there.npy'), [1, 1], [7])
    await succeeds(['multiply', ...files(), '-o', out, ...flags, ...cpu])
    const expected = oracle(b, transposed)
    expect(readNumbers(out).values).toEqual(expected.overflow ? null : Array.from(expected.data))
    writeNumbers(path('w.npy'), [1, 1], [0])
    writeNumbers(out, [2, 1], [7, 7])
    await succeeds(['paths', path('w.npy'), '-o', out, ...flags, ...cpu])
    expect(readNumbers(out)).toEqual({ shape: [1, 1], values: [0] })
  })

  it.each(onDisk)('is kept if it is an input: %j', async (...flags) => {
    const [left, right] = files() as [string, string]
    const before = readFileSync(left)
    const output = `${dirname(left)}/./${basename(left)}`
    const line = await fails(['multiply', left, right, '-o', output, ...flags])
    expect(line).toContain(`the output ${output} is the same file as the input ${left}`)
    expect(readFileSync(left)).toEqual(before)
  })

  it('is kept if unfinished work of another output is next to it', async () => {
    const out = writeNumbers(path('begun.npy'), [1, 1], [7])
    mkdirSync(`${out}.partial`)
    writeFileSync(path('begun.npy.partial/mine'), 'mine')
    const args = ['multiply', ...files(), '-o', out, '--memory', '4MiB']
    expect(await fails(args)).toMatch(/--overwrite \[ERR_MPMML_EXISTS\]$/m)
    expect(readNumbers(out).values).toEqual([7])
    expect(readFileSync(path('begun.npy.partial/mine'), 'utf8')).toBe('mine')
  })
})

it('rejects files that do not fit in memory with advice, for every amount of free memory', async () => {
  const huge = writeNumbers(path('huge.npy'), [2 ** 20, 2 ** 20], [])
  truncateSync(huge, statSync(huge).size + 2 ** 42)
  for (const args of [
    ['multiply', huge, huge],
    ['paths', huge],
  ]) {
    expect(await fails([...args, '-o', path('never.npy')])).toMatch(
      /with --memory, such as --memory 8GiB, .* \[ERR_MPMML_OUT_OF_MEMORY\]$/m,
    )
  }
  rmSync(huge)
})

it('ends with 130 at an interrupt, and can be resumed', async () => {
  const out = path('i.npy')
  const args = ['multiply', ...inputs(), '-o', out, '--memory', '40kB', ...cpu]
  await inTime(async () => {
    const { status, said } = await interrupted([...args, '--overwrite'], /multiplying into/)
    if (status === 0) return false
    expect({ status, said }).toEqual({ status: 130, said: 'mpmml: interrupted\n' })
    return true
  })
  await succeeds([...args, '--resume'])
  const data = readFileSync(out)
  const elements = product.overflow ? [] : product.data
  expect(
    Buffer.compare(data.subarray(-4 * elements.length), Buffer.from((elements as Int32Array).buffer)),
  ).toBe(0)
})

it('works in a program without a file', async () => {
  const program = `
    import { multiplyArrays } from 'mpmml/arrays'
    const [a, b, c] = process.argv.slice(1)
    const { shape } = await multiplyArrays(a, b, c, { backend: 'cpu', codec: 'zstd' })
    console.log(shape.join())`
  const args = ['--input-type=module', '-e', program, ...inputs(), path('p.zarr')]
  const { stdout, stderr } = await runProgram(process.execPath, args, { cwd: root })
  expect({ stdout, stderr }).toEqual({ stdout: '90,80\n', stderr: '' })
})

it('installs no optional package', () => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(`${root}/package.json`, 'utf8'),
  )
  for (const name of ['zarrita', 'hash-wasm', 'aws4fetch']) {
    expect(dependencies).not.toHaveProperty(name)
    expect(peerDependencies).toHaveProperty(name)
    expect(peerDependenciesMeta[name]).toEqual({ optional: true })
  }
})

describe('a bucket', () => {
  const output = 's3://bucket/c.zarr'
  const named = (...more: string[]) => ['multiply', ...inputs(), '-o', output, '--backend', 'cpu', ...more]

  it('holds inputs and outputs', async () => {
    const server = await S3Server.start()
    try {
      const env = server.environment
      const created = JSON.parse(await succeeds(named('--chunks', '40x40', '--json'), { env }))
      expect(created).toMatchObject({ path: output, shape: [90, 80] })
      expect(server.keys().filter((key) => !key.startsWith('c.zarr/'))).toEqual([])
      expect(product.overflow).toBeFalsy()
      expect((await download(server, 'c.zarr')).data).toEqual(product.overflow || product.data)
    } finally {
      await server.end()
    }
  })

  it('is rejected without its package, or without keys', async () => {
    const env = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }
    expect(await fails(named(), 1, { env })).toMatch(
      /set the environment variables AWS_ACCESS_KEY_ID .*\[ERR_MPMML_FILE\]/,
    )
    const hook = `export const resolve = (name, context, next) => name === 'aws4fetch' ? Promise.reject(Object.assign(new Error('no'), { code: 'ERR_MODULE_NOT_FOUND' })) : next(name, context)`
    const script = path('hook.mjs')
    const url = `data:text/javascript,${encodeURIComponent(hook)}`
    writeFileSync(script, `import { register } from 'node:module'\nregister(${JSON.stringify(url)})\n`)
    expect(await fails(named(), 1, { env: { ...env, NODE_OPTIONS: `--import ${script}` } })).toMatch(
      /package aws4fetch, which is not installed: run npm install aws4fetch.*\[ERR_MPMML_PACKAGE\]/,
    )
  })
})
