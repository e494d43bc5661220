// The part of `@google-cloud/storage`'s `Storage` client that the storage calls, by shape. Nothing
// is imported from the SDK.

/** The result of `createWriteStream`: a Node.js writable stream. */
export interface GcsWriteStream {
  write(chunk: Uint8Array, done: (error?: unknown) => void): unknown;
  end(done: (error?: unknown) => void): unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
  destroy(error: Error): unknown;
}

/** One object, which may not exist. */
export interface GcsFile {
  readonly name: string;
  readonly metadata: { readonly size?: number | string };
  createWriteStream(options: {
    readonly resumable: boolean;
    readonly chunkSize?: number;
    readonly validation: "crc32c";
    readonly contentType: string;
  }): GcsWriteStream;
  createReadStream(): AsyncIterable<Uint8Array>;
  delete(options: { readonly ignoreNotFound: true }): Promise<unknown>;
}

/** One bucket, the result of `storage.bucket(name)`. */
export interface GcsBucket {
  file(name: string): GcsFile;
  /** Resolves with files, the query of the next page, and the raw answer. */
  getFiles(query: {
    readonly prefix: string;
    readonly autoPaginate: false;
    readonly pageToken?: string;
  }): Promise<readonly [readonly GcsFile[], unknown?, unknown?]>;
}

/** `new Storage()` of `@google-cloud/storage` 7. */
export interface GcsClient {
  bucket(name: string): GcsBucket;
}
