//go:build !kiln_nojit

package jit

import (
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/dump"
	"github.com/gokiln/kiln/runtime"
)

// dumpPage writes the page that KILN_DUMP asks for. The kernel is compiled once
// more for it, whether it came from the cache or not, and a failure to write is
// only reported: the launch does not depend on it.
func (r *resolver) dumpPage(kernel string) {
	if !r.pages.Wants(kernel) {
		return
	}
	page, err := dump.Collect(dump.Input{Request: r.req, Load: r.load, Target: r.tgt, Options: r.opts(), Assemble: r.assembler()})
	if err == nil {
		var file string
		if file, err = r.pages.Write(page); err == nil {
			r.log.Warn("dumped", "kernel", kernel, "page", file) // at a level that shows: it was asked for
			return
		}
	}
	r.log.Warn("kernel not dumped", "kernel", kernel, "err", err)
}

// assembler returns the compiler in the device's driver, nil if its code is
// final as it is.
func (r *resolver) assembler() func(*compiler.Artifact) (string, error) {
	if r.dev.FinalKey() == "" {
		return nil
	}
	return func(art *compiler.Artifact) (string, error) {
		_, log, err := r.dev.Finalize(runtime.Image{Format: art.Format, Name: art.Entry, Code: art.Code})
		return log, err
	}
}
