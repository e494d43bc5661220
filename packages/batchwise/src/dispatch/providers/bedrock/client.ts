// The part of the aggregated `Bedrock` client of `@aws-sdk/client-bedrock` that the account calls,
// by shape: nothing is imported from the SDK, and its answers are read as unknown objects.

/** The settings of a call: HttpHandlerOptions of the SDK. */
export interface BedrockCallOptions {
  readonly abortSignal?: AbortSignal;
  /** Milliseconds. */
  readonly requestTimeout?: number;
}

/** CreateModelInvocationJobRequest, as far as the account fills it in. */
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

/** ListModelInvocationJobsRequest, as far as the account fills it in. */
export interface InvocationJobQuery {
  readonly nameContains?: string;
  readonly maxResults: number;
  readonly nextToken?: string;
  readonly sortBy: "CreationTime";
  readonly sortOrder: "Descending";
}

/** `new Bedrock({ region })`, as far as the account calls it. */
export interface BedrockClient {
  createModelInvocationJob(job: InvocationJobRequest, call: BedrockCallOptions): PromiseLike<unknown>;
  getModelInvocationJob(job: { readonly jobIdentifier: string }, call: BedrockCallOptions): PromiseLike<unknown>;
  listModelInvocationJobs(query: InvocationJobQuery, call: BedrockCallOptions): PromiseLike<unknown>;
  stopModelInvocationJob(job: { readonly jobIdentifier: string }, call: BedrockCallOptions): PromiseLike<unknown>;
}
