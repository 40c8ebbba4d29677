package main

// arrow says what the packages of one folder may import from this module,
// themselves aside. The row with the longest folder decides; one of a folder by
// its name goes before one of each folder.
type arrow struct {
	from string   // a folder, or each folder in one, which are ended by "/*"
	to   []string // folders, with everything below them, or alone if they end in "/."; "*" is all
	leaf bool     // folders below need rows of their own
}

// arrows is the direction of the module: a reader who opens the folders in
// this order never meets a package that was not introduced before. Each half
// stands alone up to jit, where the compiler, the cache and the runtime meet.
var arrows = []arrow{
	{from: "internal/dim"},
	{from: "dsl", to: []string{"internal/dim"}},
	{from: "internal/devlog"},
	{from: "internal/tooltest"},
	{from: "internal/atomicfile"},

	{from: "compiler/ir"},
	{from: "compiler/diag"},
	{from: "compiler/target"},
	{from: "compiler/matrix", to: []string{"compiler/ir", "compiler/target"}},
	{from: "compiler/input", to: []string{"dsl"}},
	{from: "compiler/front/internal/gotype", to: []string{"compiler/ir", "compiler/input"}},
	{from: "compiler/front/internal/report", to: []string{"compiler/diag"}},
	{from: "compiler/front/internal/unroll"},
	{from: "compiler/front/internal/constval", to: []string{"compiler/ir", "compiler/input", "compiler/front/internal/gotype"}},
	{from: "compiler/front/internal/lru"},
	{from: "compiler/front/internal/source", to: []string{"dsl", "compiler/diag", "compiler/input", "compiler/front/internal/unroll", "compiler/front/internal/lru"}},
	{from: "compiler/front/internal/lower", to: []string{"compiler/ir", "compiler/diag", "compiler/input", "internal/devlog", "compiler/front/internal/gotype", "compiler/front/internal/report", "compiler/front/internal/unroll", "compiler/front/internal/constval"}},
	{from: "compiler/front", to: []string{"dsl", "compiler/ir", "compiler/diag", "compiler/input", "internal/devlog"}},
	{from: "compiler/analysis", to: []string{"compiler/ir", "internal/devlog"}},
	{from: "compiler/pass", to: []string{"compiler/ir", "compiler/analysis", "compiler/matrix", "internal/devlog"}},
	{from: "compiler/cfamily", to: []string{"compiler/ir", "compiler/analysis", "compiler/matrix", "compiler/target"}},
	{from: "compiler/ptxas", to: []string{"compiler/ir"}},
	{from: "compiler/cuda", to: []string{"compiler/ir", "compiler/matrix", "compiler/target", "compiler/cfamily", "compiler/ptxas"}},
	{from: "compiler/hip", to: []string{"compiler/ir", "compiler/matrix", "compiler/target", "compiler/cfamily"}},
	{from: "compiler/msl", to: []string{"compiler/ir", "compiler/target", "compiler/cfamily"}},
	{from: "compiler/opencl", to: []string{"compiler/ir", "compiler/target", "compiler/cfamily"}},
	{from: "compiler/ptx", to: []string{"compiler/ir", "compiler/analysis", "compiler/matrix", "compiler/target", "compiler/ptxas"}},
	{from: "compiler/amd64", to: []string{"compiler/ir", "compiler/analysis", "compiler/pass", "compiler/target", "internal/devlog"}},
	{from: "compiler/interp", to: []string{"compiler/ir", "compiler/analysis", "internal/devlog"}},
	// What programs need to know of code that they compile nothing of.
	{from: "compiler/code", to: []string{"compiler/ir", "compiler/target", "internal/devlog"}},
	{from: "compiler", to: []string{"compiler", "dsl", "internal/devlog"}, leaf: true},
	// The one backend that programs are built without: it makes itself known to the compiler.
	{from: "compiler/llvm", to: []string{"compiler"}},
	// Tools around the compiler: what it found wrong, and what it made.
	{from: "compiler/analyzer", to: []string{"compiler", "dsl"}},
	{from: "compiler/gen", to: []string{"compiler"}},
	{from: "compiler/dump", to: []string{"compiler", "dsl"}},

	{from: "cache", to: []string{"internal/atomicfile", "internal/plainjson"}},

	{from: "internal/dl"},
	{from: "internal/callsite"},
	{from: "runtime", to: []string{"internal/dl", "internal/devlog", "internal/callsite", "internal/dim"}},
	// The CPU driver executes the IR, so it alone reaches into the compiler.
	{from: "runtime/internal/cpu", to: []string{"internal/dl", "runtime/internal", "compiler/interp", "compiler/amd64"}},
	{from: "runtime/internal/cudatest", to: []string{"internal/dl", "internal/tooltest"}},

	{from: "internal/detour", to: []string{"compiler"}},
	// What is stored of a kernel, and the list of the kernels that a program uses.
	{from: "jit/record", to: []string{"compiler", "internal/atomicfile"}},
	{from: "jit/artifact", to: []string{"dsl", "compiler", "cache", "internal/plainjson", "jit/record"}},
	{from: "jit", to: []string{"dsl", "compiler", "cache", "runtime", "internal/detour"}},
	{from: "internal/pretend", to: []string{"runtime"}},
	// What families of operations share, and each family with its kernels and its cases.
	{from: "ops", to: []string{"dsl", "runtime", "jit", "internal/pretend", "ops/dtype", "ops/layout", "ops/kernels"}, leaf: true},
	{from: "ops/dtype", to: []string{"dsl"}},
	{from: "ops/layout"},
	{from: "ops/kernels", to: []string{"dsl", "jit"}}, // the latter in generated files
	{from: "ops/*", to: family()},
	{from: "ops/rows", to: family("elementwise")},
	{from: "ops/index", to: family("elementwise")},
	{from: "ops/matmul", to: family("elementwise")},
	{from: "ops/sort", to: family("elementwise", "rows", "index")},
	{from: "ops/conv", to: family("elementwise", "index", "matmul")},
	{from: "ops/scatter", to: family("elementwise", "index", "sort")},
	{from: "ops/index/indextest", to: family("index", "scatter")}, // reading and writing by indices are tested together
	{from: "ops/opstest", to: []string{"ops", "runtime", "jit", "internal/tooltest"}},
	{from: "tensor", to: []string{"dsl", "runtime", "jit", "ops", "internal/callsite"}},
	// Formats of files know bytes, element types and layouts, and no device.
	{from: "tensor/file", to: []string{"ops/dtype", "ops/layout", "internal/atomicfile"}},
	{from: "tensor/internal/archive", to: []string{"tensor/file"}},
	{from: "tensor/safetensors", to: []string{"ops/dtype", "ops/layout", "tensor/file"}},
	{from: "tensor/npy", to: []string{"ops/dtype", "ops/layout", "tensor/file", "tensor/internal/archive"}},
	{from: "tensor/torch", to: []string{"ops/dtype", "ops/layout", "tensor/file", "tensor/internal/archive"}},
	{from: "nn", to: []string{"dsl", "runtime", "jit", "ops", "tensor"}},
	{from: "quantized/internal/scan", to: []string{"tensor/file"}},
	{from: "quantized/gguf", to: []string{"ops/dtype", "ops/layout", "tensor/file", "quantized/format", "quantized/internal/scan", "internal/atomicfile"}},
	{from: "quantized/recipe", to: []string{"quantized/format"}},
	{from: "quantized/ggml", to: []string{"ops/layout", "tensor/file", "quantized/format", "quantized/gguf", "quantized/internal/scan"}},
	{from: "quantized/imatrix", to: []string{"ops/dtype", "ops/layout", "runtime", "tensor", "tensor/file", "quantized/gguf", "quantized/internal/scan"}},
	{from: "quantized/checkpoint", to: []string{"dsl", "runtime", "jit", "ops", "tensor"}},
	{from: "quantized", to: []string{"dsl", "runtime", "jit", "ops", "tensor"}},
	{from: "quantized/qnn", to: []string{"ops/dtype", "tensor", "nn", "quantized"}},
	// Text to ids and back: plain Go, which programs can import alone.
	{from: "tokenizers", to: []string{"quantized/gguf"}},
	{from: "models/chat"},                                     // text of conversations, which programs can import alone
	{from: "models/hub", to: []string{"internal/atomicfile"}}, // downloads of files, likewise
	{from: "models", to: []string{"dsl", "runtime", "jit", "ops", "tensor", "nn", "quantized", "tokenizers"}},

	// Kernels that are compiled ahead: what does so, the operations that programs get so, and the
	// bundles that they import; the commands that make those stand behind go:generate.
	{from: "prebuilt"},
	{from: "prebuilt/prebuild", to: []string{"compiler", "cache", "jit/artifact", "jit/record"}},
	{from: "prebuilt/commonops", to: []string{"tensor"}},
	{from: "prebuilt/cpu", to: []string{"jit"}},
	{from: "prebuilt/cuda", to: []string{"jit"}},

	{from: "internal/lmbench", to: []string{"models", "nn", "quantized", "tensor"}},
	{from: "cmd", to: []string{"*"}},
	{from: "examples", to: []string{"*"}},
	{from: "bench", to: []string{"*"}},
	{from: "tests", to: []string{"*"}},
	{from: "python", to: []string{"*"}},
	{from: "internal/kilnvet"},
	{from: "internal/mutate"},
	{from: "internal/testtime"},
	{from: "internal/plainjson"},
}

// family returns what a family of operations may import: what all share, and some families.
func family(of ...string) []string {
	to := []string{"dsl", "runtime", "jit", "ops/.", "ops/dtype", "ops/layout", "ops/kernels", "ops/opstest/."}
	for _, name := range of {
		to = append(to, "ops/"+name)
	}
	return to
}
