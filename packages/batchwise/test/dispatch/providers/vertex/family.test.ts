import { describe, expect, test } from "vitest";
import { familyOf, publishedPath } from "../../../../src/dispatch/providers/vertex/family.ts";

describe("a model's name in a job", () => {
  test.each([
    ["gemini-2.5-flash", "publishers/google/models/gemini-2.5-flash", "gemini"],
    ["google/gemini-2.5-flash", "publishers/google/models/gemini-2.5-flash", "gemini"],
    ["claude-sonnet-4-5@20250929", "publishers/anthropic/models/claude-sonnet-4-5@20250929", "claude"],
    ["anthropic/claude-opus-4-1", "publishers/anthropic/models/claude-opus-4-1", "claude"],
    ["meta/llama-3.3-70b-instruct-maas", "publishers/meta/models/llama-3.3-70b-instruct-maas", "openai"],
    ["llama-3.3-70b-instruct-maas", "publishers/meta/models/llama-3.3-70b-instruct-maas", "openai"],
    ["qwen3-235b-a22b-instruct-2507-maas", "publishers/qwen/models/qwen3-235b-a22b-instruct-2507-maas", "openai"],
    ["gpt-oss-120b-maas", "publishers/openai/models/gpt-oss-120b-maas", "openai"],
    ["deepseek-r1-0528-maas", "publishers/deepseek-ai/models/deepseek-r1-0528-maas", "openai"],
    ["publishers/meta/models/llama-4", "publishers/meta/models/llama-4", "openai"],
    ["projects/p/locations/l/models/7", "projects/p/locations/l/models/7", "gemini"],
  ])("of %s is %s, called as %s", (model, path, family) => {
    expect(publishedPath(model)).toBe(path);
    expect(familyOf(path)).toBe(family);
  });

  test.each(["", "mixtral", "a/b/c", "../x", "meta/", "models/x"])("is not known for %j", (model) => {
    expect(() => publishedPath(model)).toThrow(
      `\`model\` must begin with its publisher, as in "meta/llama-3.3-70b-instruct-maas", not "${model}"`,
    );
  });
});
