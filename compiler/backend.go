package compiler

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/cfamily"
	"github.com/gokiln/kiln/compiler/cuda"
	"github.com/gokiln/kiln/compiler/hip"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/msl"
	"github.com/gokiln/kiln/compiler/opencl"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/compiler/target"
)

// backend makes the code of one kind of target.
type backend struct {
	kind string
	emit Emitter
	// entry is the kernel's name in the code.
	entry func(name string) string
}

// Emitter makes the code of a module after the passes.
type Emitter func(m *ir.Module, t target.Target, opt Options) (string, error)

// Register makes a kind of target known that programs do not compile for at run time, so
// that they are built without its emitter: package compiler/llvm registers itself where it
// is imported. It is called by functions named init only.
func Register(kind string, emit Emitter, entry func(name string) string) {
	backends = append(backends, backend{kind: kind, emit: emit, entry: entry})
}

// backends has a row for each kind of target, those of [Register] aside; package code knows
// the formats of what they make.
var backends = []backend{
	{
		kind:  target.Interp,
		emit:  func(m *ir.Module, _ target.Target, _ Options) (string, error) { return m.Text(), nil },
		entry: func(name string) string { return name },
	},
	{
		kind: target.PTX,
		emit: func(m *ir.Module, t target.Target, opt Options) (string, error) {
			return ptx.Options{
				Lines: opt.Lines, Aligned: opt.Assume&Aligned != 0, Disjoint: opt.Assume&Disjoint != 0,
				Scalar: slices.Contains(opt.Disable, "vectorize"), Uniform: uniformBranches(m, opt),
			}.Emit(m, t)
		},
		entry: ir.Symbol,
	},
	structured(hip.Language),
	structured(cuda.Language),
	structured(msl.Language),
	structured(opencl.Language),
	nativeBackend,
}

// uniformBranches returns what recognises the branches that are uniform in a warp, nil
// if none is to be looked for.
func uniformBranches(m *ir.Module, opt Options) func(*ir.Block) bool {
	k := m.Kernel()
	if slices.Contains(opt.Disable, "uniform") || k == nil || len(k.Blocks) == 1 {
		return nil
	}
	u := analysis.Uniformity(m)
	return func(b *ir.Block) bool {
		return u.Block(k, b) <= ir.UniformWarp && u.Branch(k, b) <= ir.UniformWarp
	}
}

// structured is the backend of a C-like language.
func structured(l *cfamily.Language) backend {
	return backend{
		kind: l.Kind,
		emit: func(m *ir.Module, t target.Target, opt Options) (string, error) {
			return l.Emit(m, t, cfamily.Options{Lines: opt.Lines, Disjoint: opt.Assume&Disjoint != 0, Names: opt.Names})
		},
		entry: cfamily.EntryName,
	}
}

func backendOf(kind string) (*backend, error) {
	i := slices.IndexFunc(backends, func(b backend) bool { return b.kind == kind })
	if i < 0 {
		return nil, fmt.Errorf("no emitter for targets of kind %q is in this program: import the package of package compiler that has it", kind)
	}
	return &backends[i], nil
}
