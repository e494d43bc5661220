// Seeded random numbers: small, fast and equal on every machine. Not for secrets.

/** Numbers in [0, 1) that depend only on the seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    mixed ^= mixed >>> 15;
    return (mixed >>> 0) / 2 ** 32;
  };
}

/** A number in [0, 2^32) that depends only on the text. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < text.length; place += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193);
  }
  return hash >>> 0;
}

/** The whole numbers below `count` in a random order. */
export function shuffled(count: number, random: () => number): Uint32Array {
  const order = new Uint32Array(count);
  for (let place = 0; place < count; place += 1) {
    const other = Math.floor(random() * (place + 1));
    order[place] = order[other] as number;
    order[other] = place;
  }
  return order;
}
