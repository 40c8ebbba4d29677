package compiler

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/cuda"
	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/llvm"
	"github.com/gokiln/kiln/compiler/msl"
	"github.com/gokiln/kiln/compiler/opencl"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
)

// The formats of an artifact's code.
const (
	FormatIR     = "kir" // IR text, for the CPU
	FormatPTX    = "ptx"
	FormatHIP    = "hip"  // HIP C++
	FormatCUDA   = "cuda" // CUDA C++
	FormatMSL    = "msl"  // Metal Shading Language
	FormatOpenCL = "cl"   // OpenCL C
	FormatLLVM   = "ll"   // LLVM IR
	FormatX86    = "x86"  // machine code for amd64, in the container of package image
)

// backend makes the code of one kind of target.
type backend struct {
	kind   string
	format string
	// assumes is what its code is better for knowing of a launch.
	assumes Assume
	emit    func(m *ir.Module, t target.Target, opt Options) (string, error)
	// entry is the kernel's name in the code.
	entry func(name string) string
}

// backends has a row for each kind of target.
var backends = []backend{
	{
		kind: target.Interp, format: FormatIR,
		emit:  func(m *ir.Module, _ target.Target, _ Options) (string, error) { return m.Text(), nil },
		entry: func(name string) string { return name },
	},
	{
		kind: target.PTX, format: FormatPTX, assumes: Small | Aligned | Disjoint,
		emit: func(m *ir.Module, t target.Target, opt Options) (string, error) {
			return ptx.Options{
				Lines: opt.Lines, Aligned: opt.Assume&Aligned != 0, Disjoint: opt.Assume&Disjoint != 0,
				Scalar: slices.Contains(opt.Disable, "vectorize"), Uniform: uniformBranches(m, opt),
			}.Emit(m, t)
		},
		entry: ptx.EntryName,
	},
	{
		kind: target.LLVM, format: FormatLLVM, assumes: Small | Aligned | Disjoint,
		emit: func(m *ir.Module, t target.Target, opt Options) (string, error) {
			return llvm.Options{Lines: opt.Lines, Aligned: opt.Assume&Aligned != 0, Disjoint: opt.Assume&Disjoint != 0}.Emit(m, t)
		},
		entry: llvm.EntryName,
	},
	structured(hip.Language, FormatHIP),
	structured(cuda.Language, FormatCUDA),
	structured(msl.Language, FormatMSL),
	structured(opencl.Language, FormatOpenCL),
	nativeBackend,
}

// uniformBranches returns what tells the branches that a warp takes together, nil
// if none is to be looked for.
func uniformBranches(m *ir.Module, opt Options) func(*ir.Block) bool {
	k := m.Kernel()
	if slices.Contains(opt.Disable, "uniform") || k == nil || len(k.Blocks) == 1 {
		return nil
	}
	u := pass.Uniformity(m)
	return func(b *ir.Block) bool {
		return u.Block(k, b) <= ir.UniformWarp && u.Branch(k, b) <= ir.UniformWarp
	}
}

// structured is the backend of a C-like language.
func structured(l *cfamily.Language, format string) backend {
	return backend{
		kind: l.Kind, format: format, assumes: Small | Disjoint,
		emit: func(m *ir.Module, t target.Target, opt Options) (string, error) {
			return l.Emit(m, t, cfamily.Options{Lines: opt.Lines, Disjoint: opt.Assume&Disjoint != 0, Names: opt.Names})
		},
		entry: cfamily.EntryName,
	}
}

func backendOf(kind string) (*backend, error) {
	i := slices.IndexFunc(backends, func(b backend) bool { return b.kind == kind })
	if i < 0 {
		return nil, fmt.Errorf("no emitter for targets of kind %q", kind)
	}
	return &backends[i], nil
}

// Assumes returns what code for t is better for knowing of a launch. Targets whose
// code would not differ have one variant.
func Assumes(t target.Target) Assume {
	b, err := backendOf(t.Kind)
	if err != nil {
		return 0
	}
	return b.assumes
}

// TargetFor returns what to compile for on a device that loads images of some
// formats, the best first.
func TargetFor(formats []string, arch string) (target.Target, error) {
	for _, format := range formats {
		for _, b := range backends {
			switch {
			case b.format != format:
			case b.kind == target.Interp:
				if t, err := target.Parse("cpu:" + arch); err == nil && t.Kind == target.Interp {
					return t, nil
				}
				return target.CPU, nil
			default:
				return target.Parse(b.kind + ":" + arch)
			}
		}
	}
	return target.Target{}, fmt.Errorf("the device loads %v, none of which the compiler makes", formats)
}
