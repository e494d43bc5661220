// The part of `@aws-sdk/client-bedrock`'s aggregated `Bedrock` client that the account calls, by
// shape. Nothing is imported from the SDK, and its answers are read as unknown objects.

/** Settings of a call: the SDK's HttpHandlerOptions. */
export interface BedrockCallOptions {
  readonly abortSignal?: AbortSignal;
  /** In ms. */
  readonly requestTimeout?: number;
}

/** The fields of CreateModelInvocationJobRequest that the account sets. */
export interface InvocationJobRequest {
  readonly jobName: string;
  readonly roleArn: string;
  readonly clientRequestToken: string;
  readonly modelId: string;
  readonly modelInvocationType: "InvokeModel" | "Converse";
  readonly inputDataConfig: {
    readonly s3InputDataConfig: {
      readonly s3InputFormat: "JSONL";
      readonly s3Uri: string;
      readonly s3BucketOwner?: string;
    };
  };
  readonly outputDataConfig: {
    readonly s3OutputDataConfig: {
      readonly s3Uri: string;
      readonly s3BucketOwner?: string;
      readonly s3EncryptionKeyId?: string;
    };
  };
  readonly timeoutDurationInHours?: number;
  readonly tags?: { key: string; value: string }[];
}

/** The fields of ListModelInvocationJobsRequest that the account sets. */
export interface InvocationJobQuery {
  readonly nameContains?: string;
  readonly maxResults: number;
  readonly nextToken?: string;
  readonly sortBy: "CreationTime";
  readonly sortOrder: "Descending";
}

/** `new Bedrock({ region })`: the methods that the account calls. */
export interface BedrockClient {
  createModelInvocationJob(job: InvocationJobRequest, call: BedrockCallOptions): PromiseLike<unknown>;
  getModelInvocationJob(job: { readonly jobIdentifier: string }, call: BedrockCallOptions): PromiseLike<unknown>;
  listModelInvocationJobs(query: InvocationJobQuery, call: BedrockCallOptions): PromiseLike<unknown>;
  stopModelInvocationJob(job: { readonly jobIdentifier: string }, call: BedrockCallOptions): PromiseLike<unknown>;
}
