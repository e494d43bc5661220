// The digests of a request: of the body it was enqueued with, and of each body that a retry has put
// in its place. A store keeps them as one text and compares what is enqueued with all of them.

const BETWEEN = "\n";

/** True where the digest is one of those that are known. */
export function hasDigest(known: string, digest: string): boolean {
  return known === digest || known.split(BETWEEN).includes(digest);
}

/** The known ones and this one. */
export function withDigest(known: string, digest: string): string {
  return hasDigest(known, digest) ? known : `${known}${BETWEEN}${digest}`;
}
