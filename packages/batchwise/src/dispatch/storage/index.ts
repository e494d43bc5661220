// The entry "batchwise/dispatch/storage": names only.

export type { GcsBucket, GcsClient, GcsFile, GcsWriteStream } from "./gcs-client.ts";
export { type GcsStorageOptions, gcsStorage } from "./gcs-storage.ts";
export type { S3CallOptions, S3Client, S3Part } from "./s3-client.ts";
export { type S3StorageOptions, s3Storage } from "./s3-storage.ts";
