//go:build kiln_nojit

package jit

import (
	"github.com/gokiln/kiln/cache"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/target"
)

// This file stands for the compiler in programs that are built without it: what would
// compile a kernel says that it is not prebuilt.

// compiles reports that the program does not have the compiler.
const compiles = false

type (
	// program and way are never there.
	program struct{ Kernel, Hash string }
	way     struct {
		Target func(arch string) (target.Target, error)
	}
	// selection reports whether pages of kernels are asked for.
	selection bool
)

func wayTo([]string) *way { return nil }

func selected(getenv func(string) string) selection { return getenv("KILN_DUMP") != "" }

func checkFunc(input.Func, input.Loader) error { return nil }

// Trim has nothing to give back: there is no compiler.
func Trim() {}

func (r *resolver) front() error { return r.missing() }

func (r *resolver) compile(cache.Key) (*image, error) { return nil, r.missing() }

func (r *resolver) detour() (*image, error) { return nil, r.missing() }

func (r *resolver) explain(err error) error { return err }

// dumpPage says once that there are no pages.
func (r *resolver) dumpPage(string) {
	if !r.pages {
		return
	}
	if _, told := r.told.LoadOrStore("KILN_DUMP", true); !told {
		r.log.Warn("KILN_DUMP: no page is written, for the program was built with -tags kiln_nojit, without the compiler")
	}
}
