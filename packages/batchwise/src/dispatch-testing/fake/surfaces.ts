// The surfaces of a fake. A new wire format is added here.

import { AnthropicSurface } from "./anthropic/surface.ts";
import { BedrockSurface } from "./bedrock/surface.ts";
import { GeminiSurface } from "./gemini/surface.ts";
import { MistralSurface } from "./mistral/surface.ts";
import { OpenAiSurface } from "./openai/surface.ts";
import type { Settings } from "./settings.ts";
import type { Surface } from "./surface.ts";
import { VertexSurface } from "./vertex/surface.ts";
import { XaiSurface } from "./xai/surface.ts";

/**
 * All surfaces, served side by side. Mistral's and xAI's replace OpenAI's, because their file paths
 * are equal.
 */
export function surfacesOf(settings: Settings): readonly Surface[] {
  if (settings.ownSurface === "mistral") return [new MistralSurface(settings)];
  if (settings.ownSurface === "xai") return [new XaiSurface(settings)];
  return [
    new OpenAiSurface(settings),
    new AnthropicSurface(settings),
    new GeminiSurface(settings),
    new BedrockSurface(settings),
    new VertexSurface(settings),
  ];
}
