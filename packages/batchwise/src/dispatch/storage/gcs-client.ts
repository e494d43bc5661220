// The part of the official `Storage` client of `@google-cloud/storage` that the storage calls, by
// shape: nothing is imported from the SDK.

/** What `createWriteStream` gives: a writable stream of Node's. */
export interface GcsWriteStream {
  write(chunk: Uint8Array, done: (error?: unknown) => void): unknown;
  end(done: (error?: unknown) => void): unknown;
  on(event: "error", listener: (error: unknown) => void): unknown;
  destroy(error: Error): unknown;
}

/** One object, there or not. */
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

/** One bucket, as `storage.bucket(name)` gives it. */
export interface GcsBucket {
  file(name: string): GcsFile;
  /** Files, the query of the next page, the raw answer. */
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
