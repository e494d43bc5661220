// The handler of a text model's threads: runs a session and pools its outputs to one vector per
// text, so that neither takes time on the event loop.

import { workerData } from "node:worker_threads";
import { modelFailedError, modelLoadError } from "../errors.ts";
import { type NodeSession, openSession, type SessionData } from "../open-session.ts";
import { chooseOutput, type OutputTensor, vectorsFrom } from "./pooling.ts";
import type { Readout } from "./readout.ts";
import type { TokenBatch, VectorBlock } from "./token-batch.ts";

/** The `workerData`. */
export interface VectorData extends SessionData {
  readonly readout: Readout;
  /** The position of a text's first token. */
  readonly firstPosition: number;
}

const EMPTY: TokenBatch = { rows: 0, columns: 0, ids: new BigInt64Array(0), mask: new BigInt64Array(0) };

class VectorThread {
  readonly #data: VectorData;
  #session: NodeSession | undefined;
  #output = "";

  constructor(data: VectorData) {
    this.#data = data;
  }

  async open(): Promise<void> {
    const session = await openSession(this.#data);
    this.#session = session;
    try {
      for (const name of session.inputNames) this.#feedOf(name, EMPTY);
      this.#output = chooseOutput(session.outputNames, this.#data.readout);
    } catch (error) {
      throw modelLoadError(this.#data.path, error);
    }
  }

  /** Rejects with MODEL_FAILED. */
  async run([batch]: readonly [TokenBatch]): Promise<VectorBlock[]> {
    try {
      const session = this.#session as NodeSession;
      const feeds = Object.fromEntries(session.inputNames.map((name) => [name, this.#feedOf(name, batch)]));
      const outputs = (await session.run(feeds, [this.#output])) as Readonly<Record<string, OutputTensor>>;
      const tensor = outputs[this.#output];
      if (tensor === undefined) throw new Error(`The model gave no \`${this.#output}\``);
      return [vectorsFrom(tensor, batch, this.#data.readout)];
    } catch (error) {
      throw modelFailedError(error);
    }
  }

  async close(): Promise<void> {
    await this.#session?.release();
  }

  /**
   * The tensor for one of the model's inputs; inputs of BERT-like models are recognised by name.
   */
  #feedOf(name: string, batch: TokenBatch): never {
    const data = dataOf(name, batch, this.#data.firstPosition);
    return { type: "int64", data, dims: [batch.rows, batch.columns], location: "cpu" } as never;
  }
}

function dataOf(name: string, batch: TokenBatch, firstPosition: number): BigInt64Array {
  if (name === "input_ids") return batch.ids;
  if (name === "attention_mask") return batch.mask;
  // All texts are first segments.
  if (name === "token_type_ids") return new BigInt64Array(batch.ids.length);
  if (name === "position_ids") return positions(batch, firstPosition);
  throw new Error(`The model asks for \`${name}\`; expected input_ids, attention_mask, token_type_ids or position_ids`);
}

function positions({ rows, columns }: TokenBatch, first: number): BigInt64Array {
  return BigInt64Array.from({ length: rows * columns }, (_, place) => BigInt(first + (place % columns)));
}

const thread: VectorThread = new VectorThread(workerData as VectorData);

export default thread;
