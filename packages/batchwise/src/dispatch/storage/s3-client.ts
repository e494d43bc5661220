// The part of the aggregated `S3` client of `@aws-sdk/client-s3` that the storage calls, by shape:
// nothing is imported from the SDK, and its answers are read as unknown objects.

/** What every method of the client takes beside its input. */
export interface S3CallOptions {
  readonly abortSignal?: AbortSignal;
}

interface S3Object {
  readonly Bucket: string;
  readonly Key: string;
}

/** A part of an upload, as the end of the upload names it. */
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
