package harness

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/tests/conformance"
)

// native is what a session knows of machine code of the CPU, which is compared with
// the interpreter, too.
type native struct {
	target   target.Target // what code for the device is compiled for
	compiled atomic.Int64  // kernels with machine code; the rest is left to the interpreter
}

// openNative looks at what the device runs.
func (s *session) openNative() (err error) {
	info := s.dev.Info()
	s.native.target, err = compiler.TargetFor(info.Formats, info.Arch)
	return err
}

// against compares machine code of the CPU with the interpreter, which runs the same
// IR, optimised for the same target, with warps of the same width. Other devices have
// nothing to compare.
func (s *session) against(k Kernel) error {
	t := s.native.target
	if t.Kind != target.Native {
		return nil
	}
	prog, err := translate(k)
	if err != nil {
		return err
	}
	c := k.launch()
	opt := compiler.Options{Assume: properties(t, c.Args), Strict: true}
	want, err := prog.run(t, opt, c)
	if err != nil {
		return fmt.Errorf("in the interpreter, as optimised for %s: %w", t, err)
	}
	art, err := prog.Emit(t, opt)
	if err != nil {
		return fmt.Errorf("emitting code for %s: %w", t, err)
	}
	if art.Format == compiler.FormatX86 {
		s.native.compiled.Add(1)
	}
	got, err := conformance.Run(s.dev.DefaultStream(), c)
	if err == nil {
		err = want.compare(got)
	}
	if err != nil {
		return fmt.Errorf("machine code against the interpreter: %w", err)
	}
	return nil
}

// reportNative says what was compared.
func (s *session) reportNative(w io.Writer) {
	if t := s.native.target; t.Kind == target.Native {
		fmt.Fprintf(w, "%d compiled to machine code for %s, and compared with the interpreter with warps of %d threads\n", s.native.compiled.Load(), t, t.WarpSize)
	}
}
