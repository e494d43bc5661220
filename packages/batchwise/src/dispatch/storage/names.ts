// Converts object names between our form, relative to a bucket and prefix, and the storage's keys
// and addresses. Pure.

import { aString, check, refuseUnknown } from "../../core/contract/validate.ts";

const NAME = /^[A-Za-z0-9._-][A-Za-z0-9._/-]{0,511}$/;

export interface BucketOptions {
  /** The bucket's name, without a scheme. */
  readonly bucket: string;
  /**
   * A folder in the bucket that all names are relative to. A "/" is added if it lacks one.
   * Default: none.
   */
  readonly prefix?: string;
}

export class ObjectNames {
  readonly bucket: string;
  readonly #root: string;
  readonly #prefix: string;

  /** @throws TypeError with `code: "INVALID_OPTION"` */
  constructor(scheme: "s3" | "gs", options: BucketOptions & object) {
    refuseUnknown(options, ["client", "bucket", "prefix"]);
    const { bucket, prefix = "" } = options;
    check("bucket", { ...aString, expected: "a bucket's name", test: isBucket }, bucket);
    check("prefix", { ...aString, expected: "letters, digits and any of . _ - /, not first", test: isPrefix }, prefix);
    this.bucket = bucket;
    this.#root = `${scheme}://${bucket}/`;
    this.#prefix = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
  }

  /** The key of a name, or of an address in this bucket. */
  keyOf(nameOrUri: string): string {
    if (nameOrUri.startsWith(this.#root)) return nameOrUri.slice(this.#root.length);
    if (nameOrUri.includes("://")) throw new TypeError(`Expected an address below ${this.#root}, got ${nameOrUri}.`);
    return this.#prefix + nameOrUri;
  }

  /**
   * Like `keyOf`, for an object to write. Its name must be valid for all storages and providers.
   */
  newKeyOf(name: string): string {
    if (!NAME.test(name)) throw new TypeError(`Expected a name of letters, digits and any of . _ - /, got "${name}".`);
    return this.#prefix + name;
  }

  /** The name of a key, or its address if it lies outside the prefix. */
  nameOf(key: string): string {
    return key.startsWith(this.#prefix) ? key.slice(this.#prefix.length) : this.#root + key;
  }

  addressOf(key: string): string {
    return this.#root + key;
  }
}

function isBucket(bucket: string): boolean {
  return bucket !== "" && !bucket.includes("/");
}

function isPrefix(prefix: string): boolean {
  return prefix === "" || NAME.test(prefix);
}
