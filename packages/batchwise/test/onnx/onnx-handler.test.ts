import { onnxHandler } from "batchwise/onnx";
import { describe, expect, test } from "vitest";

const features = { x: { type: "float32", data: Float32Array.of(1), dims: [1, 1] } } as const;

describe("a session that breaks its contract", () => {
  const lost = { type: "float32", dims: [1], location: "gpu-buffer", getData: () => Promise.reject(new Error("lost")) };

  test.each([
    [undefined, "Expected the session to give a tensor `y`, got `undefined`"],
    [null, "Expected the session to give a tensor `y`, got `undefined`"],
    [{}, "Expected the session to give a tensor `y`, got `undefined`"],
    [{ y: null }, "Expected the session to give a tensor `y`, got `null`"],
    [{ y: [1] }, "Expected the session to give a tensor `y`, got an object (Array)"],
    [{ y: lost }, "lost"],
  ])("by giving %o fails its batch with MODEL_FAILED", async (outputs, message) => {
    const session = { inputNames: ["x"], outputNames: ["y"], run: async () => outputs };
    await expect(onnxHandler(session as never)(features)).rejects.toMatchObject({ code: "MODEL_FAILED", message });
  });
});
