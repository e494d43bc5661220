// The fake Bedrock refuses the same calls as Bedrock, through the official client.

import type { CreateModelInvocationJobCommandInput } from "@aws-sdk/client-bedrock";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type BedrockRig, bedrockRig, ROLE } from "../../dispatch/providers/bedrock/rig.ts";

const MINUTE = 60_000;
let rig: BedrockRig;
beforeEach(async () => {
  rig = await bedrockRig({ limits: { minLines: 2 } });
});
afterEach(() => rig.close());

const record = (recordId: string) =>
  `${JSON.stringify({ recordId, modelInput: { inputText: recordId, dimensions: 256 } })}\n`;
const job = (more: Partial<CreateModelInvocationJobCommandInput> = {}): CreateModelInvocationJobCommandInput => ({
  jobName: "a-job",
  roleArn: ROLE,
  modelId: "amazon.titan-embed-text-v2:0",
  clientRequestToken: "token-1",
  inputDataConfig: { s3InputDataConfig: { s3Uri: "s3://bucket/in/a.jsonl" } },
  outputDataConfig: { s3OutputDataConfig: { s3Uri: "s3://bucket/out" } },
  ...more,
});

describe("a create is refused", () => {
  test.each<[string, Partial<CreateModelInvocationJobCommandInput>]>([
    ["a name of 64 characters", { jobName: "a".repeat(64) }],
    ["a name with an underscore", { jobName: "a_job" }],
    ["a role that is none", { roleArn: "arn:aws:iam::123456789012:user/a" }],
    ["a token with an underscore", { clientRequestToken: "a_b" }],
    ["a timeout of 12 hours", { timeoutDurationInHours: 12 }],
    ["an input that is no .jsonl", { inputDataConfig: { s3InputDataConfig: { s3Uri: "s3://bucket/in/a.txt" } } }],
    ["an output elsewhere", { outputDataConfig: { s3OutputDataConfig: { s3Uri: "https://example.com/a" } } }],
  ])("with %s", async (_what, more) => {
    await expect(rig.clients.bedrock.createModelInvocationJob(job(more))).rejects.toMatchObject({
      name: "ValidationException",
      $metadata: { httpStatusCode: 400 },
    });
    expect(rig.fake.batches()).toEqual([]);
  });
});

describe("a job", () => {
  const status = async (jobIdentifier: string | undefined) => {
    return rig.clients.bedrock.getModelInvocationJob({ jobIdentifier });
  };

  test("writes its output and a manifest below its own id", async () => {
    rig.s3.write("bucket", "in/a.jsonl", `${record("a")}${record("b")}`);
    const { jobArn } = await rig.clients.bedrock.createModelInvocationJob(job());
    expect(await status(jobArn)).toMatchObject({ status: "Validating", totalRecordCount: 0 });
    await rig.clock.advance(30 * MINUTE);
    expect(await status(jobArn)).toMatchObject({ status: "Completed", totalRecordCount: 2, successRecordCount: 2 });
    const id = jobArn?.split("/").at(-1);
    expect(rig.s3.names("bucket")).toEqual(["in/a.jsonl", `out/${id}/a.jsonl.out`, `out/${id}/manifest.json.out`]);
    const lines = Buffer.from(rig.s3.read("bucket", `out/${id}/a.jsonl.out`) ?? []).toString();
    expect(JSON.parse(lines.split("\n")[0] ?? "")).toMatchObject({ modelOutput: { inputTextTokenCount: 1 } });
  });

  test.each([
    ["of too few records", record("a"), "The job has 1 records"],
    ["with a line that is cut", `${record("a")}{"recordId":"b"`, "Line 2 of the input is malformed"],
    ["with a line without an id", `${record("a")}{"modelInput":{}}\n`, "Line 2 of the input is malformed"],
  ])("%s fails when it is validated", async (_what, input, words) => {
    rig.s3.write("bucket", "in/a.jsonl", input);
    const { jobArn } = await rig.clients.bedrock.createModelInvocationJob(job());
    await rig.clock.advance(2 * MINUTE);
    expect(await status(jobArn)).toMatchObject({ status: "Failed", message: expect.stringContaining(words) });
  });

  test("that has ended cannot be stopped, and an unknown one is not there", async () => {
    const { jobArn } = await rig.clients.bedrock.createModelInvocationJob(job());
    await rig.clock.advance(2 * MINUTE);
    const { bedrock } = rig.clients;
    await expect(bedrock.stopModelInvocationJob({ jobIdentifier: jobArn })).rejects.toThrow("has ended");
    const other = `${jobArn?.slice(0, -4)}zzzz`;
    await expect(status(other)).rejects.toMatchObject({ name: "ResourceNotFoundException" });
    await expect(status("no-job")).rejects.toMatchObject({ name: "ValidationException" });
  });

  test("is found by a part of its name, page by page", async () => {
    const { bedrock } = rig.clients;
    for (const n of [1, 2, 3]) {
      await bedrock.createModelInvocationJob(job({ jobName: `mine-${n}`, clientRequestToken: `token-${n}` }));
    }
    await bedrock.createModelInvocationJob(job({ jobName: "other", clientRequestToken: "token-4" }));
    const query = { nameContains: "mine", maxResults: 2 };
    const first = await bedrock.listModelInvocationJobs(query);
    const second = await bedrock.listModelInvocationJobs({ ...query, nextToken: first.nextToken });
    const named = [first, second].map(({ invocationJobSummaries: jobs }) => jobs?.map(({ jobName }) => jobName));
    expect(named).toEqual([["mine-3", "mine-2"], ["mine-1"]]);
    expect(second.nextToken).toBeUndefined();
  });
});
