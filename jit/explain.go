//go:build !kiln_nojit

package jit

import (
	"errors"

	"github.com/gokiln/kiln/runtime"
)

// explain is for code that the vendor's compiler has refused with err: it is given the
// kernel once more as text that names the lines of Go, so that drivers find them for
// what the compiler says. It returns what comes of that, or err.
func (r *resolver) explain(err error) error {
	opt := r.opts()
	if opt.Lines || !errors.Is(err, runtime.ErrBadImage) {
		return err
	}
	if r.program == nil && r.front() != nil {
		return err
	}
	opt.Lines = true
	art, emitErr := r.program.Emit(r.tgt, opt)
	if emitErr != nil {
		return err
	}
	if _, _, again := r.dev.Finalize(r.image(art).img); again != nil {
		return again
	}
	return err
}
