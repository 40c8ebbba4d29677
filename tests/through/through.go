package through

import (
	"fmt"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/detour"
	"github.com/gokiln/kiln/tests/nvrtc"
)

// to returns a function that makes targets of a kind.
func to(kind string) func(arch string) (target.Target, error) {
	return func(arch string) (target.Target, error) { return target.Parse(kind + ":" + arch) }
}

// NVRTC is the way of CUDA C++ text.
func NVRTC(lib *nvrtc.Library) *detour.Way {
	return &detour.Way{Loads: "cubin", Target: to(target.CUDA), Emit: func(p *compiler.Program, t target.Target, opt compiler.Options) (*compiler.Artifact, error) {
		art, err := p.Emit(t, opt)
		if err != nil {
			return nil, err
		}
		code, _, err := lib.Compile(art.Entry+".cu", string(art.Code), t.Arch)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Kernel, err)
		}
		art.Format, art.Code = "cubin", code
		return art, nil
	}}
}

// LLVM is the way of LLVM IR, whose PTX is among images.
func LLVM(images *Images) *detour.Way {
	return &detour.Way{Loads: "ptx", Target: to(target.LLVM), Emit: func(p *compiler.Program, t target.Target, opt compiler.Options) (*compiler.Artifact, error) {
		art, err := p.Emit(t, opt)
		if err != nil {
			return nil, err
		}
		code, err := images.PTX(string(art.Code))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Kernel, err)
		}
		art.Format, art.Code = "ptx", code
		return art, nil
	}}
}
