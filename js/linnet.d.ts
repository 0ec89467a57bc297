// The types of linnet's API. Names and shapes follow onnxruntime-common, so that code written for it compiles; what
// linnet adds is marked in the comments.

// ---- Tensors

/** A tensor's surface: what both linnet's and onnxruntime-common's tensors have, and what a feed needs. */
export interface TensorLike {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: unknown;
}

interface TypedTensorBase<T extends Tensor.Type> {
  readonly type: T;
  readonly dims: readonly number[];
  /** Number of elements. */
  readonly size: number;
  /** The elements. Of a view (`{ outputs: 'view' }`), valid until the session's next run or release. */
  readonly data: Tensor.DataTypeMap[T];
  /** 'cpu', or 'none' once disposed. */
  readonly location: Tensor.DataLocation;
  /** Never there: reading it throws. */
  readonly texture: Tensor.TextureType;
  /** Never there: reading it throws. */
  readonly gpuBuffer: Tensor.GpuBufferType;
  /** Never there: reading it throws. */
  readonly mlTensor: Tensor.MLTensorType;
  getData(releaseData?: boolean): Promise<Tensor.DataTypeMap[T]>;
  dispose(): void;
  /** A tensor with other dims over the same elements. */
  reshape(dims: readonly number[]): TypedTensor<T>;
  toImageData(options?: TensorToImageDataOptions): ImageData;
  toDataURL(options?: TensorToDataUrlOptions): string;
}

export interface TypedTensor<T extends Tensor.Type> extends TypedTensorBase<T> {}
export interface Tensor extends TypedTensorBase<Tensor.Type> {}

export declare namespace Tensor {
  interface DataTypeMap {
    float32: Float32Array;
    uint8: Uint8Array;
    int8: Int8Array;
    uint16: Uint16Array;
    int16: Int16Array;
    int32: Int32Array;
    int64: BigInt64Array;
    string: string[];
    bool: Uint8Array;
    /** Float16Array where the engine has it. */
    float16: Uint16Array;
    float64: Float64Array;
    uint32: Uint32Array;
    uint64: BigUint64Array;
    /** Packed, low part first. */
    uint4: Uint8Array;
    /** Packed, low part first. */
    int4: Int8Array;
    // Types that onnxruntime-common does not name.
    bfloat16: Uint16Array;
    /** Interleaved pairs. */
    complex64: Float32Array;
    /** Interleaved pairs. */
    complex128: Float64Array;
    float8e4m3fn: Uint8Array;
    float8e4m3fnuz: Uint8Array;
    float8e5m2: Uint8Array;
    float8e5m2fnuz: Uint8Array;
    float8e8m0: Uint8Array;
    float4e2m1: Uint8Array;
    uint2: Uint8Array;
    int2: Int8Array;
    /** Packed, four elements in three bytes. */
    float6e2m3: Uint8Array;
    /** Packed, four elements in three bytes. */
    float6e3m2: Uint8Array;
  }
  interface ElementTypeMap {
    float32: number;
    uint8: number;
    int8: number;
    uint16: number;
    int16: number;
    int32: number;
    int64: bigint;
    string: string;
    bool: boolean;
    float16: number;
    float64: number;
    uint32: number;
    uint64: bigint;
    uint4: number;
    int4: number;
  }
  type Type = keyof DataTypeMap;
  type DataType = DataTypeMap[Type];
  type ElementType = ElementTypeMap[keyof ElementTypeMap];
  type DataLocation = 'none' | 'cpu' | 'cpu-pinned' | 'texture' | 'gpu-buffer' | 'ml-tensor';
  type CpuPinnedDataTypes = Exclude<Type, 'string'>;
  type TextureType = WebGLTexture;
  type GpuBufferType = { size: number; mapState: 'unmapped' | 'pending' | 'mapped' };
  type MLTensorType = { destroy(): void };
}

export interface CpuPinnedConstructorParameters<T extends Tensor.CpuPinnedDataTypes = Tensor.CpuPinnedDataTypes> {
  readonly location: 'cpu-pinned' | 'cpu';
  readonly type: T;
  readonly dims: readonly number[];
  readonly data: Tensor.DataTypeMap[T];
}

type NumberTypes = Exclude<Tensor.Type, 'string' | 'bool' | 'int64' | 'uint64'>;

export interface TensorConstructor extends TensorFactory {
  new (type: 'string', data: readonly string[], dims?: readonly number[]): TypedTensor<'string'>;
  new (type: 'bool', data: Uint8Array | readonly boolean[], dims?: readonly number[]): TypedTensor<'bool'>;
  new (type: 'uint8', data: Uint8ClampedArray, dims?: readonly number[]): TypedTensor<'uint8'>;
  new <T extends 'uint64' | 'int64'>(type: T, data: Tensor.DataTypeMap[T] | readonly bigint[] | readonly number[], dims?: readonly number[]): TypedTensor<T>;
  new <T extends NumberTypes>(type: T, data: Tensor.DataTypeMap[T] | readonly number[], dims?: readonly number[]): TypedTensor<T>;
  new (data: Float32Array, dims?: readonly number[]): TypedTensor<'float32'>;
  new (data: Int8Array, dims?: readonly number[]): TypedTensor<'int8'>;
  new (data: Uint8Array | Uint8ClampedArray, dims?: readonly number[]): TypedTensor<'uint8'>;
  new (data: Uint16Array, dims?: readonly number[]): TypedTensor<'uint16'>;
  new (data: Int16Array, dims?: readonly number[]): TypedTensor<'int16'>;
  new (data: Int32Array, dims?: readonly number[]): TypedTensor<'int32'>;
  new (data: BigInt64Array, dims?: readonly number[]): TypedTensor<'int64'>;
  new (data: readonly string[], dims?: readonly number[]): TypedTensor<'string'>;
  new (data: readonly boolean[], dims?: readonly number[]): TypedTensor<'bool'>;
  new (data: Float64Array, dims?: readonly number[]): TypedTensor<'float64'>;
  new (data: Uint32Array, dims?: readonly number[]): TypedTensor<'uint32'>;
  new (data: BigUint64Array, dims?: readonly number[]): TypedTensor<'uint64'>;
  new <T extends Tensor.CpuPinnedDataTypes>(parameters: CpuPinnedConstructorParameters<T>): TypedTensor<T>;
  new (type: Tensor.Type, data: Tensor.DataType | readonly number[] | readonly string[] | readonly bigint[] | readonly boolean[], dims?: readonly number[]): Tensor;
  new (data: Tensor.DataType, dims?: readonly number[]): Tensor;
}

export interface TensorFactory {
  fromImage(imageData: ImageData, options?: TensorFromImageDataOptions): Promise<TypedTensor<'float32'> | TypedTensor<'uint8'>>;
  fromImage(imageElement: HTMLImageElement, options?: TensorFromImageElementOptions): Promise<TypedTensor<'float32'> | TypedTensor<'uint8'>>;
  fromImage(urlSource: string, options?: TensorFromUrlOptions): Promise<TypedTensor<'float32'> | TypedTensor<'uint8'>>;
  fromImage(bitmap: ImageBitmap, options?: TensorFromImageBitmapOptions): Promise<TypedTensor<'float32'> | TypedTensor<'uint8'>>;
  fromPinnedBuffer<T extends Exclude<Tensor.Type, 'string'>>(type: T, buffer: Tensor.DataTypeMap[T], dims?: readonly number[]): TypedTensor<T>;
  /** Refused: linnet computes in WebAssembly memory. */
  fromTexture(texture: Tensor.TextureType, options?: object): TypedTensor<'float32'>;
  /** Refused: linnet computes in WebAssembly memory. */
  fromGpuBuffer<T extends Tensor.Type = 'float32'>(buffer: Tensor.GpuBufferType, options?: object): TypedTensor<T>;
  /** Refused: linnet computes in WebAssembly memory. */
  fromMLTensor<T extends Tensor.Type = 'float32'>(tensor: Tensor.MLTensorType, options?: object): TypedTensor<T>;
}

export declare const Tensor: TensorConstructor;

export type ImageFormat = 'RGB' | 'RGBA' | 'BGR' | 'RBG';
export type ImageTensorLayout = 'NHWC' | 'NCHW';
type PerChannel = number | [number, number, number] | [number, number, number, number];

export interface OptionsNormalizationParameters {
  /** A pixel c of 0 to 255 becomes (c + bias) / mean; mean is 255 and bias 0 unless given. */
  norm?: { bias?: PerChannel; mean?: PerChannel };
}
export interface OptionsTensorLayout {
  tensorLayout?: ImageTensorLayout;
}
export interface OptionsFormat {
  format?: ImageFormat;
}
export interface OptionsDimensions {
  height?: number;
  width?: number;
}
export interface TensorFromImageDataOptions extends OptionsTensorLayout, OptionsNormalizationParameters {
  resizedHeight?: number;
  resizedWidth?: number;
  tensorFormat?: ImageFormat;
  dataType?: 'float32' | 'uint8';
}
export interface TensorFromImageElementOptions extends TensorFromImageDataOptions {}
export interface TensorFromImageBitmapOptions extends TensorFromImageDataOptions {}
export interface TensorFromUrlOptions extends TensorFromImageDataOptions, OptionsDimensions {}
export interface TensorToImageDataOptions extends OptionsTensorLayout, OptionsFormat, OptionsNormalizationParameters {}
export interface TensorToDataUrlOptions extends TensorToImageDataOptions {}

// ---- Values

/** What may be fed: a tensor; an array for a sequence, a Map for a map, undefined or null for an empty optional. */
export type FeedValue = TensorLike | readonly FeedValue[] | ReadonlyMap<string | number | bigint, FeedValue | number | string | bigint> | null | undefined;
/** What may come out. */
export type Value = Tensor | Value[] | Map<string | bigint, Value | number | string | bigint> | SparseTensor | undefined;
export interface SparseTensor {
  readonly dims: readonly number[];
  readonly values: Tensor;
  readonly indices: Tensor;
}
export type OnnxValue = Tensor;
export type OnnxValueDataLocation = Tensor.DataLocation;

// ---- Sessions

export type FileUrlOrPath = string;
export type FileBlob = Blob;
export type FileData = Uint8Array | ArrayBufferLike;
export type FileType = FileUrlOrPath | FileBlob | FileData;
export interface ExternalDataFileDescription {
  data: FileType | URL | Response | ReadableStream<Uint8Array>;
  path: string;
}
export type ExternalDataFileType = ExternalDataFileDescription | FileUrlOrPath;
export interface OnnxModelOptions {
  /** Files that the model keeps weights in. In Node.js, those beside the model are found without it. */
  externalData?: readonly ExternalDataFileType[] | ReadonlyMap<string, ExternalDataFileDescription['data']> | Readonly<Record<string, ExternalDataFileDescription['data']>>;
}

/** The wasm files: kernels for plain or relaxed SIMD, for one thread or several. */
export type Artifact = 'simd' | 'relaxed' | 'simd.threads' | 'relaxed.threads';

export interface Progress {
  phase: 'runtime' | 'model' | 'external' | 'compile' | 'ready';
  /** Bytes so far, in the phases 'model' and 'external'. */
  loaded?: number;
  /** Bytes in all, when that is known. */
  total?: number;
}

export declare namespace InferenceSession {
  type OnnxValueMapType = { readonly [name: string]: OnnxValue };
  type NullableOnnxValueMapType = { readonly [name: string]: TensorLike | null };
  type FeedsType = { readonly [name: string]: FeedValue };
  type FetchesType = readonly string[] | NullableOnnxValueMapType;
  type ReturnType = OnnxValueMapType;

  interface SessionOptions extends OnnxModelOptions {
    /** Forces a wasm file; by default the best one that the engine can run. */
    artifact?: Artifact;
    /** Number of threads; by default half of the cores, at most 4, and 1 where memory cannot be shared. */
    threads?: number;
    /** The wasm itself, where it is not found beside the package. */
    wasm?: WebAssembly.Module | Response | FileData | string | URL;
    /** A runtime to share, instead of one of the session's own. */
    runtime?: Runtime;
    /** Moves the session into a worker. */
    worker?: boolean;
    /** Ends the loading. */
    signal?: AbortSignal;
    onProgress?: (progress: Progress) => void;
    /** 0: as written, 1: constants folded, 2: all rewrites (the default). */
    optimize?: 0 | 1 | 2;
    /** Records the time of each node: see profile(). */
    profile?: boolean;
    /** Initializers that the model lists as inputs may be fed (IR version 4 and newer); by default they are constants. */
    overridable?: boolean;
    /**
     * false: convolutions and large matrix products are summed plainly. By default convolutions of stride 1 that gain from it use
     * Winograd's transforms, whose rounding error is up to about three times that of the plain sum; its weights take at most
     * 96 MB more. Large products take one level of Strassen's scheme, with about twice the error of the plain sum.
     */
    winograd?: boolean;
    /**
     * By default create() goes on to plan for the inputs' declared shapes and to run a part of each step on zeros, so that the engine has
     * compiled the kernels when the first run comes: that takes about as long as the first run gains. false leaves it to that.
     */
    warmUp?: boolean;
    /** Seed of the random operators. */
    seed?: number;

    // onnxruntime's options. Those that mean nothing here are accepted and do nothing.
    executionProviders?: readonly ExecutionProviderConfig[];
    intraOpNumThreads?: number;
    interOpNumThreads?: number;
    freeDimensionOverrides?: { readonly [dimensionName: string]: number };
    graphOptimizationLevel?: 'disabled' | 'basic' | 'extended' | 'layout' | 'all';
    enableCpuMemArena?: boolean;
    enableMemPattern?: boolean;
    executionMode?: 'sequential' | 'parallel';
    /** Refused. */
    optimizedModelFilePath?: string;
    enableProfiling?: boolean;
    profileFilePrefix?: string;
    logId?: string;
    logSeverityLevel?: 0 | 1 | 2 | 3 | 4;
    logVerbosityLevel?: number;
    preferredOutputLocation?: OnnxValueDataLocation | { readonly [outputName: string]: OnnxValueDataLocation };
    /** Refused. */
    enableGraphCapture?: boolean;
    extra?: Record<string, unknown>;
  }
  interface ExecutionProviderOption {
    readonly name: string;
  }
  type ExecutionProviderConfig = ExecutionProviderOption | string;

  interface RunOptions {
    /** Ends the run; it rejects with code ABORTED. */
    signal?: AbortSignal;
    /** 'view': outputs are views of the wasm memory, valid until the session's next run or release. */
    outputs?: 'copy' | 'view';
    logSeverityLevel?: 0 | 1 | 2 | 3 | 4;
    logVerbosityLevel?: number;
    /** Refused: use `signal`. */
    terminate?: boolean;
    tag?: string;
    extra?: Record<string, unknown>;
  }

  interface ValueMetadataBase {
    readonly name: string;
  }
  interface NonTensorValueMetadata extends ValueMetadataBase {
    readonly isTensor: false;
    /** 'sequence', 'map', 'optional' or 'sparse'. */
    readonly kind: string;
  }
  interface TensorValueMetadata extends ValueMetadataBase {
    readonly isTensor: true;
    readonly type: Tensor.Type;
    /** Numbers, and names of symbolic dimensions ('' for one without a name); empty when no shape is declared. */
    readonly shape: ReadonlyArray<number | string>;
  }
  type ValueMetadata = NonTensorValueMetadata | TensorValueMetadata;
}

/** What the model says about itself. */
export interface ModelMetadata {
  readonly producerName: string;
  readonly producerVersion: string;
  readonly domain: string;
  readonly docString: string;
  readonly graphName: string;
  readonly irVersion: number;
  readonly modelVersion: number;
  readonly functions: number;
  readonly hasTrainingInfo: boolean;
  readonly customProperties: Readonly<Record<string, string>>;
  /** Operator-set versions by domain; '' is the standard's. */
  readonly opsetImports: Readonly<Record<string, number>>;
}

/** What runs the model, and why. */
export interface SessionInfo {
  readonly artifact: Artifact;
  readonly artifactReason: string;
  readonly threads: number;
  readonly threadsReason: string;
  readonly runtime: 'own' | 'shared';
  readonly worker: boolean;
  readonly warnings: readonly string[];
}

export interface ProfileRecord {
  readonly node: string;
  readonly op: string;
  readonly ms: number;
}

/** A step of a run: a node of the optimised graph with the types and shapes it met, as in "float32 [1,3,8]". */
export interface StepRecord {
  /** 0 for the main graph, bodies of loops and branches follow. */
  readonly graph: number;
  readonly node: string;
  readonly op: string;
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** A session in a worker answers some questions with a promise. */
type MaybePromise<T> = T | Promise<T>;

export interface InferenceSession {
  run(feeds: InferenceSession.FeedsType, options?: InferenceSession.RunOptions): Promise<InferenceSession.ReturnType>;
  run(feeds: InferenceSession.FeedsType, fetches: InferenceSession.FetchesType, options?: InferenceSession.RunOptions): Promise<InferenceSession.ReturnType>;
  /** For models whose outputs are not all tensors: `run<{ label: Tensor; scores: Map<bigint, number>[] }>(feeds)`. */
  run<T extends { [name: string]: Value }>(feeds: InferenceSession.FeedsType, fetches?: InferenceSession.FetchesType | InferenceSession.RunOptions, options?: InferenceSession.RunOptions): Promise<T>;
  /** Runs at once, on the calling thread. */
  runSync(feeds: InferenceSession.FeedsType, options?: InferenceSession.RunOptions): InferenceSession.ReturnType;
  runSync(feeds: InferenceSession.FeedsType, fetches: InferenceSession.FetchesType, options?: InferenceSession.RunOptions): InferenceSession.ReturnType;
  runSync<T extends { [name: string]: Value }>(feeds: InferenceSession.FeedsType, fetches?: InferenceSession.FetchesType | InferenceSession.RunOptions, options?: InferenceSession.RunOptions): T;
  /**
   * Binds inputs to tensors of numbers, copied once, after the runs that are under way: runs to come read them there and are fed the other
   * inputs. For what stays the same from run to run, such as the encoder's caches of a decoder. A name with null takes feeds again.
   */
  bind(feeds: { readonly [inputName: string]: TensorLike | null }): Promise<void>;
  /** Frees the session and gives its memory back, after the runs that are under way. */
  release(): Promise<void>;
  startProfiling(): void;
  endProfiling(): void;
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly inputMetadata: readonly InferenceSession.ValueMetadata[];
  readonly outputMetadata: readonly InferenceSession.ValueMetadata[];
  readonly metadata: ModelMetadata;
  readonly info: SessionInfo;
  /** Time per node of the last run; undefined unless profiling. */
  profile(): MaybePromise<readonly ProfileRecord[] | undefined>;
  /** Bytes in use by kind, and those of the whole wasm memory. */
  memory(): MaybePromise<{ readonly wasmBytes: number; readonly liveBytes: number; readonly peakBytes: number; readonly [key: string]: unknown }>;
  /** What the last run computed, step by step: nodes that shapes alone decide took part while planning and are not among them. */
  steps(): MaybePromise<readonly StepRecord[]>;
  /** The optimised graph: operators, weights, packed weights, rewrites with how often they fired. */
  inspect(): MaybePromise<{ readonly [key: string]: unknown }>;
}

export interface InferenceSessionFactory {
  create(model: string | URL, options?: InferenceSession.SessionOptions): Promise<InferenceSession>;
  create(model: ArrayBufferLike, options?: InferenceSession.SessionOptions): Promise<InferenceSession>;
  create(model: ArrayBufferLike, byteOffset: number, byteLength?: number, options?: InferenceSession.SessionOptions): Promise<InferenceSession>;
  create(model: Uint8Array, options?: InferenceSession.SessionOptions): Promise<InferenceSession>;
  create(model: Blob | Response | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>, options?: InferenceSession.SessionOptions): Promise<InferenceSession>;
}

export interface InferenceSessionFactory {
  /** What a model holds, as it is written, without making it ready to run. */
  inspect(model: string | URL | FileData | Blob | Response | ReadableStream<Uint8Array>, options?: InferenceSession.SessionOptions): Promise<ModelSummary>;
}

export interface ModelSummary {
  readonly inputs: readonly InferenceSession.ValueMetadata[];
  readonly outputs: readonly InferenceSession.ValueMetadata[];
  readonly metadata: ModelMetadata;
  /** Number of nodes, subgraphs and functions included. */
  readonly nodes: number;
  readonly operators: readonly { op: string; domain: string; count: number; node: string }[];
  /** Operators that this build does not have. */
  readonly unsupported: readonly { op: string; domain: string; count: number; node: string }[];
  readonly weights: readonly { type: string; tensors: number; bytes: number }[];
}

export declare const InferenceSession: InferenceSessionFactory;

/** A wasm instance, its memory and its threads. */
export interface Runtime {
  /** Bytes of wasm memory in use. */
  readonly byteLength: number;
  release(): void;
}
export declare const Runtime: {
  create(options?: Pick<InferenceSession.SessionOptions, 'artifact' | 'threads' | 'wasm'>): Promise<Runtime>;
};

// ---- Errors

export type LinnetErrorCode =
  | 'INVALID_ARGUMENT' | 'INVALID_MODEL' | 'INVALID_GRAPH' | 'INVALID_ATTRIBUTE' | 'INVALID_TYPE' | 'INVALID_SHAPE' | 'INVALID_VALUE'
  | 'INVALID_FEED' | 'UNSUPPORTED_OP' | 'UNSUPPORTED_OPSET' | 'UNSUPPORTED' | 'EXTERNAL_DATA' | 'LIMIT_EXCEEDED' | 'OUT_OF_MEMORY'
  | 'ABORTED' | 'SESSION_BUSY' | 'THREAD_DIED' | 'INTERNAL' | 'LOAD_FAILED' | 'WASM_FAILED' | 'SESSION_RELEASED';

export declare class LinnetError extends Error {
  constructor(code: LinnetErrorCode, message: string, details?: { node?: string; op?: string; opset?: number; cause?: unknown });
  /** Stable, for programs. */
  readonly code: LinnetErrorCode;
  /** Name of the node, where the error belongs to one. */
  readonly node?: string;
  readonly op?: string;
  readonly opset?: number;
}

// ---- Defaults

export declare namespace Env {
  type WasmPathPrefix = string;
  interface WasmFilePaths {
    wasm?: URL | string;
    /** Unused: there is no script to load. */
    mjs?: URL | string;
  }
  type WasmPrefixOrFilePaths = WasmPathPrefix | WasmFilePaths;
  /** Defaults of session options: threads, wasm and worker. What linnet does not name has no effect. */
  interface WebAssemblyFlags {
    numThreads?: number;
    wasmPaths?: WasmPrefixOrFilePaths;
    wasmBinary?: ArrayBufferLike | Uint8Array;
    proxy?: boolean;
    simd?: boolean | 'fixed' | 'relaxed';
    trace?: boolean;
    initTimeout?: number;
  }
  interface WebGLFlags {
    [name: string]: any;
  }
  interface WebGpuFlags {
    [name: string]: any;
  }
}

export interface Env {
  logLevel?: 'verbose' | 'info' | 'warning' | 'error' | 'fatal';
  debug?: boolean;
  trace?: boolean;
  readonly versions: { readonly common: string; readonly linnet: string; readonly web?: string; readonly node?: string; readonly 'react-native'?: string };
  readonly wasm: Env.WebAssemblyFlags;
  readonly webgl: Env.WebGLFlags;
  readonly webgpu: Env.WebGpuFlags;
  [name: string]: unknown;
}
export declare const env: Env;
