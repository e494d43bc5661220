// Names of objects: relative to a bucket and a prefix on our side, keys and addresses on the
// storage's. Pure.

import { aString, check, refuseUnknown } from "../../core/contract/validate.ts";

const NAME = /^[A-Za-z0-9._-][A-Za-z0-9._/-]{0,511}$/;

export interface BucketOptions {
  /** The bucket's name, without a scheme. */
  readonly bucket: string;
  /**
   * A folder in it that all names are relative to; a "/" is added where it ends in none. Default:
   * none.
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

  /** The same for what is written: its name must be one that every storage and provider takes. */
  newKeyOf(name: string): string {
    if (!NAME.test(name)) throw new TypeError(`Expected a name of letters, digits and any of . _ - /, got "${name}".`);
    return this.#prefix + name;
  }

  /** The name of a key; its address where it lies outside of the prefix. */
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
