/**
 * How the numbers that a model gives for its tokens become one vector a text; plain data, which
 * travels to the threads.
 */

/** Ways of pooling, in the order in which several are put one behind the other. */
export const POOLINGS = ["cls", "max", "mean", "mean-sqrt-len", "weighted-mean", "last-token"] as const;

/** How the vectors of tokens become that of their text. */
export type Pooling = (typeof POOLINGS)[number];

export type Activation = "identity" | "tanh" | "relu" | "sigmoid";

export interface DenseStep {
  readonly kind: "dense";
  /** The module's folder, for messages. */
  readonly name: string;
  readonly inputs: number;
  readonly outputs: number;
  /** outputs x inputs. */
  readonly weights: Float32Array;
  /** One a number of the output, or none. */
  readonly bias: Float32Array | null;
  readonly activation: Activation;
}

export type ReadoutStep = DenseStep | { readonly kind: "normalize" };

export interface Readout {
  /** Where the pooling comes from: the option, the model's files, or nowhere, which is the mean. */
  readonly source: "option" | "files" | "none";
  /** Several are put one behind the other. */
  readonly poolings: readonly Pooling[];
  /** What happens to a pooled vector, in order. */
  readonly steps: readonly ReadoutStep[];
  /**
   * The model's modules.json has no Normalize, so its authors' vectors are of other lengths than 1.
   */
  readonly isUnscaled?: boolean;
  /** Width of a token's vector by the model's files. */
  readonly tokenWidth?: number;
  /**
   * Why vectors of tokens cannot be made into those of texts as the files ask; a graph that pools
   * by itself may be used.
   */
  readonly problem?: string;
}

/** For a model without files that say more. */
export const MEAN_READOUT: Readout = { source: "none", poolings: ["mean"], steps: [] };
