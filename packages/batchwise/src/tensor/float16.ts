// Half precision, for platforms and runtimes that hold it as bits.

const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/**
 * The bits of a number in half precision (IEEE 754 binary16), rounded to the nearest, ties to even.
 * The number is rounded to single precision first.
 */
export function float16Bits(value: number): number {
  FLOAT[0] = value;
  const bits = BITS[0] as number;
  const sign = (bits >>> 16) & 0x8000;
  const exponent = (bits >>> 23) & 0xff;
  const fraction = bits & 0x7f_ffff;
  if (exponent === 0xff) return sign | 0x7c00 | (fraction === 0 ? 0 : 0x200);
  const half = exponent - 112;
  if (half >= 31) return sign | 0x7c00;
  // Rounding may carry into the exponent, up to infinity, because the bits are in that order.
  if (half > 0) return sign | roundedShift((half << 23) | fraction, 13);
  return half < -10 ? sign : sign | roundedShift(0x80_0000 | fraction, 14 - half);
}

function roundedShift(bits: number, by: number): number {
  const whole = bits >>> by;
  const rest = bits - whole * 2 ** by;
  const middle = 2 ** (by - 1);
  return rest > middle || (rest === middle && whole % 2 === 1) ? whole + 1 : whole;
}
