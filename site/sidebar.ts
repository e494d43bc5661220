// The reading order of the pages. A page that is missing here can be found only by search and
// links, and build.ts refuses it.

interface Group {
  readonly text: string;
  readonly collapsed?: boolean;
  readonly items: { readonly text: string; readonly link: string }[];
}

type Page = readonly [text: string, page: string];

function group(text: string, pages: readonly Page[], collapsed = false): Group {
  return { text, collapsed, items: pages.map(([title, page]) => ({ text: title, link: `/${page}` })) };
}

export const sidebar: Group[] = [
  group("Start", [
    ["What it is", ""],
    ["Getting started", "docs/getting-started"],
    ["Recipes", "docs/recipes"],
    ["Why is my batch size 1?", "docs/why-is-my-batch-size-1"],
    ["Troubleshooting", "docs/troubleshooting"],
  ]),
  group("In a process", [
    ["The batcher", "docs/batcher"],
    ["Tuning", "docs/tuning"],
    ["A latency target", "docs/latency-target"],
    ["Streaming", "docs/streaming"],
    ["Rate limits", "docs/limits"],
    ["Metrics and traces", "docs/metrics"],
    ["Threads", "docs/threads"],
    ["Tensors", "docs/tensors"],
    ["ONNX models", "docs/onnx"],
    ["Pipelines", "docs/pipelines"],
    ["The simulator", "docs/simulate"],
    ["Tests", "docs/testing"],
    ["Guarantees", "docs/guarantees"],
  ]),
  group("Batch APIs", [
    ["The dispatcher", "docs/dispatch"],
    ["Keep your client", "docs/keep-your-client"],
    ["Without a process that stays", "docs/without-a-process"],
    ["Answers with a schema", "docs/answers-with-a-schema"],
    ["Batch, flex or live", "docs/batch-flex-or-live"],
    ["How to use it from …", "docs/how-to-dispatch"],
    ["Providers", "docs/providers"],
    ["… OpenAI and its shape", "docs/providers/openai"],
    ["… Anthropic", "docs/providers/anthropic"],
    ["… Gemini", "docs/providers/gemini"],
    ["… Vertex AI", "docs/providers/vertex"],
    ["… Amazon Bedrock", "docs/providers/bedrock"],
    ["… Mistral", "docs/providers/mistral"],
    ["… Voyage", "docs/providers/voyage"],
    ["… xAI", "docs/providers/xai"],
    ["… local", "docs/providers/local"],
    ["Object storage", "docs/object-storage"],
    ["The fake provider", "docs/fake-provider"],
    ["Stores", "docs/dispatch-stores"],
    ["How large", "docs/how-large"],
    ["The command", "docs/command"],
    ["Operating", "docs/operating"],
    ["Guarantees", "docs/dispatch-guarantees"],
    ["Writing an account", "docs/writing-an-account"],
    ["Writing a store", "docs/writing-a-store"],
  ]),
  group("Serving", [
    ["The server", "docs/server"],
    ["Serving a model", "docs/inference"],
    ["Deployment", "docs/deployment"],
    ["Security", "docs/security"],
  ]),
  group(
    "Coming from",
    [
      ["All libraries", "docs/coming-from"],
      ["BentoML", "docs/coming-from/bentoml"],
      ["BullMQ Pro", "docs/coming-from/bullmq-pro"],
      ["batched", "docs/coming-from/batched"],
      ["batshit", "docs/coming-from/batshit"],
      ["dataloader", "docs/coming-from/dataloader"],
      ["Flyte", "docs/coming-from/flyte"],
      ["inferflow", "docs/coming-from/inferflow"],
      ["LangBatch", "docs/coming-from/langbatch"],
      ["p-queue", "docs/coming-from/p-queue"],
      ["Pacer", "docs/coming-from/pacer"],
      ["promise-batcher", "docs/coming-from/promise-batcher"],
      ["Ray Serve", "docs/coming-from/ray-serve"],
      ["Triton", "docs/coming-from/triton"],
    ],
    true,
  ),
  group(
    "How it is built",
    [
      ["Architecture", "docs/architecture"],
      ["Design of the dispatcher", "docs/dispatch-design"],
      ["Benchmarks", "docs/benchmarks"],
      ["Benchmarks of the dispatcher", "docs/benchmarks-dispatch"],
      ["… on servers", "docs/benchmarks-servers"],
      ["Benchmarks of the latency target", "docs/benchmarks-target"],
      ["Contributing", "CONTRIBUTING"],
    ],
    true,
  ),
  group("Reference", [["Public names", "api/"]]),
];
