/**
 * Describes how a model's numbers for tokens become one vector per text. Plain data, which is sent
 * to the threads.
 */

/** The ways of pooling, in the order in which several are concatenated. */
export const POOLINGS = ["cls", "max", "mean", "mean-sqrt-len", "weighted-mean", "last-token"] as const;

/** How the vectors of tokens become the vector of their text. */
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
  /** One number per output, or null. */
  readonly bias: Float32Array | null;
  readonly activation: Activation;
}

export type ReadoutStep = DenseStep | { readonly kind: "normalize" };

export interface Readout {
  /** Source of the pooling: the option, the model's files, or none, which means the mean. */
  readonly source: "option" | "files" | "none";
  /** Several are concatenated. */
  readonly poolings: readonly Pooling[];
  /** Steps applied to a pooled vector, in order. */
  readonly steps: readonly ReadoutStep[];
  /**
   * True if the model's modules.json has no Normalize: its authors' vectors have lengths other than
   * 1.
   */
  readonly isUnscaled?: boolean;
  /** Width of a token's vector, by the model's files. */
  readonly tokenWidth?: number;
  /**
   * Why tokens cannot be pooled as the files say. A graph that pools its tokens can still be used.
   */
  readonly problem?: string;
}

/** The readout of a model whose files do not describe pooling. */
export const MEAN_READOUT: Readout = { source: "none", poolings: ["mean"], steps: [] };
