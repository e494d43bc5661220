// Which surfaces a fake has: a provider's wire format joins the fake here.

import { AnthropicSurface } from "./anthropic/surface.ts";
import { BedrockSurface } from "./bedrock/surface.ts";
import { GeminiSurface } from "./gemini/surface.ts";
import { MistralSurface } from "./mistral/surface.ts";
import { OpenAiSurface } from "./openai/surface.ts";
import type { Settings } from "./settings.ts";
import type { Surface } from "./surface.ts";
import { VertexSurface } from "./vertex/surface.ts";

/**
 * Their paths never meet, so that all are served side by side; but Mistral's files have the paths
 * of OpenAI's.
 */
export function surfacesOf(settings: Settings): readonly Surface[] {
  if (settings.speaksMistral) return [new MistralSurface(settings)];
  return [
    new OpenAiSurface(settings),
    new AnthropicSurface(settings),
    new GeminiSurface(settings),
    new BedrockSurface(settings),
    new VertexSurface(settings),
  ];
}
