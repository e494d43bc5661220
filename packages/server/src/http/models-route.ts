/** `GET /v1/models` and `GET /v1/models/{id}`: the only model of this server. */

import type { ModelDescription } from "../models/embedder.ts";
import { modelNotFound } from "./errors.ts";

interface ModelCard {
  readonly id: string;
  readonly object: "model";
  /** Seconds since 1970. */
  readonly created: number;
  readonly owned_by: string;
  readonly dimensions: number;
  readonly max_tokens: number;
}

function modelCard(model: ModelDescription, startedAt: Date): ModelCard {
  return {
    id: model.name,
    object: "model",
    created: Math.floor(startedAt.getTime() / 1000),
    owned_by: model.builtIn ? "batchwise" : "user",
    dimensions: model.dimensions,
    max_tokens: model.maxTokens,
  };
}

export function listModels(model: ModelDescription, startedAt: Date): Response {
  return Response.json({ object: "list", data: [modelCard(model, startedAt)] });
}

export function retrieveModel(id: string, model: ModelDescription, startedAt: Date): Response {
  if (id !== model.name) throw modelNotFound(id, model.name);
  return Response.json(modelCard(model, startedAt));
}
