/** Turns accumulators into C: decodes, ⊕ C0, overflow, witness, strided stores. */
import {
  FACTS,
  FAULT,
  KEY,
  type Mode,
  NO_FAULT,
  ranges,
  readers,
  type StoredBits,
  writers,
  writtenType,
} from './arithmetic.js'

/** Constants of a store. */
interface StoreKind {
  readonly semiring: string
  readonly mode: Mode | 'wide'
  /** Bits of the elements of C. */
  readonly bits: StoredBits
  readonly witness: boolean
}

/** Values of the uniform `policy`, in the order of the addon's overflowPolicies. 'wrap' is exact only if no sum can leave the range. */
export const [THROW, SATURATE, WRAP] = [0, 1, 2]

/** The bits of a positive float, which are its key. */
export function floatBits(value: number): number {
  return new Int32Array(Float32Array.of(value).buffer)[0]!
}

/** WGSL of a store. A fault is the index (item · m + row) · n + column of a result outside the finite range. The uniform `adds` is 1 if C0 is accumulated to. */
export function store({ semiring, mode, bits, witness }: StoreKind): string {
  const isMax = semiring.startsWith('max')
  const pick = isMax ? 'max' : 'min'
  const zero = isMax ? '(-0x7fffffff - 1)' : '0x7fffffff'
  const zeroFloat = isMax ? '0xff800000u' : '0x7f800000u'
  const [least, most] = isMax ? ['(-0x7fffffff)', '0x7fffffff'] : ['(-0x7fffffff - 1)', '0x7ffffffe']
  const lost = witness ? 'if (u != v) { k = -1; }' : ''
  const decoded =
    mode === 'wide'
      ? 'let none = win[at] == 2; let half = bitcast<i32>(acc[at]); let bit = win[at] & 1;'
      : `let r = bitcast<i32>(acc[at]) >> p.shift; let none = ${isMax ? 'r < 0' : 'r > 0'};
  let oa = offset_of(${FACTS[0]}u); let ob = offset_of(${FACTS[1]}u); let ob1 = (oa ^ ob) & 1;
  let half = (r >> 1u) + (oa >> 1u) + (ob >> 1u) + (oa & ob & 1) + (r & ob1 & 1); let bit = (r ^ ob1) & 1;
  ${witness ? `if (p.shift > 0u) { let tag = bitcast<i32>(acc[at]) & i32((1u << p.shift) - 1u); k = ${isMax ? 'i32((1u << p.shift) - 1u) - tag' : 'tag'}; }` : ''}`
  // A sum is 2 · half + bit. It fits if half is that of an int32, and it isn't the value of zero. One outside decides only if it beats C0.
  const sums = `${decoded}
  let fits = half >= ${least} >> 1u && half <= ${most} >> 1u && ${isMax ? '(half != -0x40000000 || bit == 1)' : '(half != 0x3fffffff || bit == 0)'};
  var v = half * 2 + bit; var fault = !none && !fits;
  if (fault && p.policy == ${SATURATE}u) { v = select(${least}, ${most}, half >= 0); fault = false; }
  if (none) { v = ${zero}; }
  if (p.adds == 1u) {
    let before = bitcast<i32>(initial(g));
    let loses = before != ${zero} && half ${isMax ? '<' : '>='} 0;
    if (none || (fault && loses)) { v = before; fault = false; ${witness ? 'k = -1;' : ''} }
    else if (!fault) { let u = ${pick}(v, before); ${lost} v = u; }
  }
  ${witness ? `if (v == ${zero}) { k = -1; }` : ''}
  if (fault) { atomicMin(&status[${FAULT}], i32(min(g.y * p.n + g.x + g.z * p.m * p.n, ${NO_FAULT - 1}u))); }
  let x = bitcast<u32>(v);`
  const body = {
    offset: sums,
    wide: sums,
    plain: `var v = bitcast<i32>(acc[at]);
  if (p.adds == 1u) { let u = ${pick}(v, bitcast<i32>(initial(g))); ${lost} v = u; }
  ${witness ? `if (v == ${zero}) { k = -1; }` : ''}
  let x = bitcast<u32>(v);`,
    keys: `var v = bitcast<i32>(acc[at]);
  if (p.adds == 1u) {
    let before = initial(g);
    if (!is_nan(before)) { let u = ${pick}(v, key(before)); ${lost} v = u; }
  }
  let x = bits_of(v);
  ${witness ? `if (x == ${zeroFloat}) { k = -1; }` : ''}`,
    // The bits of the accumulator are read without a float instruction. Accumulators of padding are beyond
    // ±2^125.
    float: `var x = acc[at];
  if ((x & 0x7fffffffu) > 0x7e000000u) { x = ${zeroFloat}; }
  if (p.adds == 1u) {
    let before = initial(g);
    if (!is_nan(before)) { let v = key(x); let u = ${pick}(v, key(before)); ${lost} x = bits_of(u); }
  }
  ${witness ? `if (x == ${zeroFloat}) { k = -1; }` : ''}`,
    bits: `var v = ${semiring === 'or-and' ? 'acc[at] != 0u' : '(countOneBits(acc[at]) & 1u) == 1u'};
  if (p.adds == 1u) { let before = initial(g) != 0u; v = ${semiring === 'or-and' ? 'v || before' : 'v != before'}; }
  let x = select(0u, 1u, v);`,
  }[mode]
  return `
@group(0) @binding(0) var<storage, read> acc: array<u32>;
struct P {
  offset: u32, rs: u32, bs: u32, m: u32, n: u32, mp: u32, np: u32, src0: u32, rs0: u32, cs0: u32, bs0: u32,
  kOffset: u32, krs: u32, kbs: u32, adds: u32, policy: u32, shift: u32
}
@group(0) @binding(9) var<uniform> p: P;
@group(0) @binding(2) var<storage, read_write> dst: ${writtenType(bits)};
@group(0) @binding(3) var<storage, read_write> status: array<atomic<i32>>;
@group(0) @binding(4) var<storage, read> src: array<u32>;
${witness || mode === 'wide' ? '@group(0) @binding(5) var<storage, read> win: array<i32>;' : ''}
${witness ? '@group(0) @binding(6) var<storage, read_write> index: array<i32>;' : ''}
${readers[bits]}
${writers[bits]}
${KEY}
${mode === 'offset' ? ranges(isMax, (at) => `atomicLoad(&status[${at}])`) : ''}
fn initial(g: vec3<u32>) -> u32 {
  return raw(p.src0 + g.z * p.bs0 + g.y * p.rs0 + g.x * p.cs0);
}
@compute @workgroup_size(64, 4)
fn main(@builtin(global_invocation_id) g: vec3<u32>) {
  if (g.x >= p.n || g.y >= p.m) { return; }
  let at = (g.z * p.mp + g.y) * p.np + g.x; let to = p.offset + g.z * p.bs + g.y * p.rs + g.x;
  ${witness ? 'var k = win[at];' : ''}
  ${body}
  write(to, x);
  ${witness ? 'index[p.kOffset + g.z * p.kbs + g.y * p.krs + g.x] = k;' : ''}
}`
}
