// The part of `@aws-sdk/client-s3`'s aggregated `S3` client that the storage calls, by shape.
// Nothing is imported from the SDK, and its answers are read as unknown objects.

/** The second argument of every method of the client. */
export interface S3CallOptions {
  readonly abortSignal?: AbortSignal;
}

interface S3Object {
  readonly Bucket: string;
  readonly Key: string;
}

/** A part of an upload, as `completeMultipartUpload` lists it. */
export interface S3Part {
  readonly PartNumber: number;
  readonly ETag?: string;
  readonly ChecksumCRC32?: string;
  readonly ChecksumCRC32C?: string;
  readonly ChecksumCRC64NVME?: string;
  readonly ChecksumSHA1?: string;
  readonly ChecksumSHA256?: string;
}

/** `new S3()` of `@aws-sdk/client-s3` 3. */
export interface S3Client {
  putObject(input: S3Object & { readonly Body: Uint8Array }, call?: S3CallOptions): Promise<unknown>;
  getObject(input: S3Object, call?: S3CallOptions): Promise<unknown>;
  deleteObject(input: S3Object, call?: S3CallOptions): Promise<unknown>;
  listObjectsV2(
    input: { readonly Bucket: string; readonly Prefix: string; readonly ContinuationToken?: string },
    call?: S3CallOptions,
  ): Promise<unknown>;
  createMultipartUpload(input: S3Object, call?: S3CallOptions): Promise<unknown>;
  uploadPart(
    input: S3Object & { readonly UploadId: string; readonly PartNumber: number; readonly Body: Uint8Array },
    call?: S3CallOptions,
  ): Promise<unknown>;
  completeMultipartUpload(
    input: S3Object & { readonly UploadId: string; readonly MultipartUpload: { readonly Parts: S3Part[] } },
    call?: S3CallOptions,
  ): Promise<unknown>;
  abortMultipartUpload(input: S3Object & { readonly UploadId: string }, call?: S3CallOptions): Promise<unknown>;
}
