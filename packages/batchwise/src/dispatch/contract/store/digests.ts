// A request's digests: of the body it was enqueued with, and of each corrected body of a retry. A
// store keeps them as one text and compares enqueued requests with all of them.

const BETWEEN = "\n";

/** True if the digest is among the known ones. */
export function hasDigest(known: string, digest: string): boolean {
  return known === digest || known.split(BETWEEN).includes(digest);
}

/** The known digests and this one. */
export function withDigest(known: string, digest: string): string {
  return hasDigest(known, digest) ? known : `${known}${BETWEEN}${digest}`;
}
