/** Exact arithmetic on fractions, and on floating-point numbers as integers. */

export const signOf = (value: bigint): number => (value > 0n ? 1 : value < 0n ? -1 : 0)

const view = new DataView(new ArrayBuffer(8))

/** Returns a finite number as `mantissa · 2^exponent`, both integers. */
function split(value: number): { mantissa: bigint; exponent: number } {
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const biased = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & ((1n << 52n) - 1n)
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n)
  return { mantissa: bits >> 63n ? -mantissa : mantissa, exponent: Math.max(biased, 1) - 1075 }
}

/** Returns the greatest number of fractional binary digits of finite numbers. */
export function fractionBits(values: ArrayLike<number>): number {
  let most = 0
  let unit = 1
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!
    // Scaling by a power of two is exact up to 2^1023.
    if (Number.isInteger(value * unit)) continue
    let { mantissa, exponent } = split(value)
    while ((mantissa & 1n) === 0n) {
      mantissa >>= 1n
      exponent++
    }
    most = Math.max(most, -exponent)
    unit = 2 ** Math.min(most, 1023)
  }
  return most
}

/** `value · 2^bits`, which must be an integer. */
export function scaled(value: number, bits: number): bigint {
  if (bits === 0) return BigInt(value)
  const { mantissa, exponent } = split(value)
  const shift = BigInt(exponent + bits)
  return shift >= 0n ? mantissa << shift : mantissa >> -shift
}

/** `value / 2^bits`, rounded at most twice. */
export function unscaled(value: bigint, bits: number): number {
  if (bits === 0) return Number(value)
  // 64 binary digits exceed the precision of a number; more digits could overflow.
  const extra = Math.max(0, (value < 0n ? -value : value).toString(2).length - 64)
  const top = Number(value >> BigInt(extra))
  const exponent = extra - bits
  const half = Math.trunc(exponent / 2)
  return top * 2 ** half * 2 ** (exponent - half)
}
