/** The native addon. lib/load.ts finds the addon, and native/variants/addon.mjs defines its exports. */
import { AddonError } from './errors.js'
import { type AddonOrigin, load, ownBuild, sourcePackage } from './load.js'
import type { Addon } from './native-interface.js'
import { packageAround, root, version } from './package.js'
import { architecture, platform } from './platform.js'
import { withWebGpuNames } from './webgpu/names.js'
import { withWebGpu } from './webgpu/node.js'
import type { AddonWithGpu } from './webgpu/with-gpu.js'

export type * from './native-interface.js'
export { packageAround, root, version }

const loaded = load<Addon>()

/** The addon, loaded once, with the backend 'webgpu', which loads nothing before it is requested. */
export const addon: Addon & AddonWithGpu = withWebGpu(withWebGpuNames(loaded.addon))

/** Kind and location of the loaded addon. */
export const addonOrigin: AddonOrigin = loaded.origin

/** Returns the command that renews the loaded addon: another build, or the package in the version of this library. */
export function buildAgain(): string {
  const { from } = addonOrigin
  if (from === ownBuild) return 'npm run build'
  return from === sourcePackage ? `npm rebuild ${sourcePackage}` : `npm install ${from}@${version}`
}

/** Returns the advice for an addon without the laboratory's kernels. */
export function withoutLaboratory(): string {
  const { from } = addonOrigin
  // The laboratory built with the same CUDA: @mpmml/cuda12-linux-x64 has @mpmml/lab12-linux-x64.
  const packageOfLab = from.startsWith('@mpmml/cuda')
    ? from.replace('/cuda', '/lab')
    : `@mpmml/lab-${platform}-${architecture}`
  const run =
    from === ownBuild
      ? 'npm run build -- lab'
      : from === sourcePackage
        ? `MPMML_LAB=ON npm rebuild ${sourcePackage}`
        : `npm install ${packageOfLab}@${version}`
  return `the addon that is loaded is that of products only (${from}); run: ${run}`
}

/** Returns the index of a name in one of the addon's lists, whose order only native code defines. */
export function indexIn<Name extends string>(list: readonly Name[], name: Name): number {
  const index = list.indexOf(name)
  if (index >= 0) return index
  throw new AddonError(
    `the native addon doesn't know the name ${name}: it is of another version; run: ${buildAgain()}`,
  )
}
