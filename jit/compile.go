//go:build !kiln_nojit

package jit

import (
	"time"

	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/dump"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/detour"
)

// This file, dump.go and explain.go are what the package has of the compiler. The build tag
// kiln_nojit has nojit.go take their place.

// compiles reports that the program has the compiler.
const compiles = true

type (
	program   = compiler.Program
	way       = detour.Way
	selection = dump.Selection
)

// wayTo returns the way to devices that load some formats, nil for the usual one.
func wayTo(formats []string) *way { return detour.For(formats) }

// selected returns the kernels to write pages of.
func selected(getenv func(string) string) selection { return dump.FromEnv(getenv) }

// checkFunc reports why no kernel can be compiled with a function.
func checkFunc(f input.Func, load input.Loader) error { return front.CheckFunc(f, load) }

// Trim gives back the memory that the compiler keeps to compile further kernels faster. What
// kernels are and their code stay: see [Kernel.Unload].
func Trim() { compiler.Trim() }

// front compiles the kernel to IR.
func (r *resolver) front() error {
	if r.mode == ReadOnly {
		return r.missing()
	}
	p, err := compiler.Front(r.req, r.load)
	if err != nil {
		return err
	}
	r.program, r.positions, r.table = p, p.Positions, nil
	return nil
}

func (r *resolver) compile(key cache.Key) (*image, error) {
	if r.mode == ReadOnly {
		return nil, r.missing()
	}
	art, err := r.emit((*compiler.Program).Emit)
	if err != nil {
		return nil, err
	}
	return r.image(art), r.keep(key, cache.KindArtifact, art)
}

// emit makes code by a function.
func (r *resolver) emit(by func(*compiler.Program, target.Target, code.Options) (*code.Artifact, error)) (*code.Artifact, error) {
	start := time.Now()
	if r.program == nil { // the source was known, the target is new
		if err := r.front(); err != nil {
			return nil, err
		}
	}
	art, err := by(r.program, r.tgt, r.opts())
	r.ev.Emit, r.ev.Source = time.Since(start), "compiled"
	return art, err
}

// detour makes code by another way than the usual. It is not kept: what it depends on
// is in no key.
func (r *resolver) detour() (*image, error) {
	art, err := r.emit(r.way.Emit)
	if err != nil {
		return nil, err
	}
	return r.image(art), nil
}
